// Bootstrap: exchanges among several processes over real connections, and what becomes of them when one fails.
#include "comm/bootstrap.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "bootstrap_group.hpp"

namespace linkscope {
namespace {

TEST(BootstrapTest, GivesEverybodyEverybodysWord) {
  const auto endings = in_group(members(4), [](Bootstrap& group) {
    for (int round = 0; round < 200; ++round) {
      const auto word = [&](int rank) { return std::to_string(rank) + ":" + std::to_string(round); };
      const std::vector<std::string> words = group.allgather(word(group.rank()));
      ASSERT_EQ(words.size(), 4U);
      for (int rank = 0; rank < 4; ++rank) ASSERT_EQ(words[static_cast<std::size_t>(rank)], word(rank));
    }
    EXPECT_EQ(group.size(), 4);
    EXPECT_EQ(group.name_of(2), "rank 2 (host host2)");
  });
  for (const Ending& ending : endings) EXPECT_EQ(ending.words, "");
}

TEST(BootstrapTest, CarriesNothingAndMegabytes) {
  const auto endings = in_group(members(3), [](Bootstrap& group) {
    const auto word = [](int rank) {
      return std::string(rank == 0 ? 0 : 3 * MiB + static_cast<Bytes>(rank), static_cast<char>('a' + rank));
    };
    const std::vector<std::string> words = group.allgather(word(group.rank()));
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_TRUE(words[static_cast<std::size_t>(rank)] == word(rank)) << rank;
  });
  for (const Ending& ending : endings) EXPECT_EQ(ending.words, "");
}

/// `attempt` with a limit, and again with a longer one where this machine is too busy for all but `late` to come in
/// time, or for each that ends to hear of `causes` causes. Of the words, "within 0.5 s" reads "in time".
std::vector<Ending> patiently(const std::string& late, std::size_t causes,
                              const std::function<std::vector<Ending>(Seconds)>& attempt) {
  std::vector<Ending> endings;
  for (const Seconds limit : {0.5, 8., 60.}) {
    endings = attempt(limit);
    bool others_came = true;
    std::ostringstream within;
    within << "within " << limit << " s";
    for (Ending& ending : endings) {
      others_came &= ending.causes.empty() || ending.causes.size() >= causes;
      for (const Cause& cause : ending.causes)
        if (cause.kind == CauseKind::late) others_came &= facts_of({cause}) == late;
      const std::size_t at = ending.words.find(within.str());
      if (at != std::string::npos) ending.words.replace(at, within.str().size(), "in time");
    }
    if (others_came) break;
  }
  return endings;
}

/// Ranks of `failed`, one after another, say `reason` in an exchange to which `late` comes when all others have given
/// up.
std::vector<Ending> with_failures(int size, const std::vector<int>& failed, int late,
                                  const std::string& reason = "no room") {
  // Where rank 0 is late, each hears of that and of its own failure alone.
  const std::size_t causes = late == 0 ? 1 : failed.size() + 1;
  return patiently("late " + std::to_string(late), causes, [&](Seconds limit) {
    std::atomic<std::size_t> told = 0;
    std::atomic<int> ended = 0;
    std::vector<BootstrapOptions> all = members(size, limit);
    for (BootstrapOptions& own : all) own.on_failure = [&](const std::string&) { ++told; };
    return in_group(
        all,
        [&](Bootstrap& group) {
          if (group.rank() == late) {
            while (ended < size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            group.allgather("");
            return;
          }
          try {
            const auto place = std::find(failed.begin(), failed.end(), group.rank());
            if (place == failed.end()) {
              group.allgather("");
            } else {
              while (std::cmp_less(told.load(), place - failed.begin()) && ended == 0)
                std::this_thread::yield();
              group.allgather("", {"", reason});
            }
          } catch (const Error& error) {
            EXPECT_STREQ(group.broken()->what(), error.what());
            EXPECT_EQ(group.broken()->causes(), causes_of(error));
            throw;
          }
        },
        &ended);
  });
}

TEST(BootstrapTest, NamesWhoIsLateToEverybody) {
  expect_all(with_failures(3, {}, 2), Fault::fatal, "rank 2 (host host2) has not come in time", "late 2");
}

TEST(BootstrapTest, NamesWhoFailedWhereAnotherIsLateToEverybody) {
  expect_all(with_failures(4, {1}, 2), Fault::fatal,
             "rank 1 (host host1) failed: no room; rank 2 (host host2) has not come in time");
}

TEST(BootstrapTest, AReasonThatReadsLikeACauseIsNone) {
  const std::string reason = "rank 3 (host host3) is gone; rank 0 has not come within 9 s";
  expect_all(with_failures(4, {1}, 2, reason), Fault::fatal,
             "rank 1 (host host1) failed: " + reason + "; rank 2 (host host2) has not come in time",
             "failed 1, late 2");
}

TEST(BootstrapTest, NamesWhoFailedInTheOrderInWhichTheyDid) {
  const auto words = [](int first, int second) {
    const auto failed = [](int rank) {
      return "rank " + std::to_string(rank) + " (host host" + std::to_string(rank) + ") failed: no room; ";
    };
    return failed(first) + failed(second) + "rank 2 (host host2) has not come in time";
  };
  expect_all(with_failures(4, {0, 1}, 2), Fault::fatal, words(0, 1));
  expect_all(with_failures(4, {1, 0}, 2), Fault::fatal, words(1, 0));
  expect_all(with_failures(4, {3, 1}, 2), Fault::fatal, words(3, 1), "failed 3, failed 1, late 2");
}

TEST(BootstrapTest, WhereRankZeroIsLateEachSaysThatItFailedItself) {
  const auto endings = with_failures(3, {1}, 0);
  const std::string late = "rank 0 (host host0) has not come in time";
  EXPECT_EQ(endings[1].words, "rank 1 (host host1) failed: no room; " + late);
  EXPECT_EQ(endings[2].words, late);
  EXPECT_EQ(facts_of(endings[1].causes), "failed 1, late 0");
}

TEST(BootstrapTest, AFailureThatAllHaveHeardOfIsOver) {
  const auto endings = in_group(members(3), [](Bootstrap& group) {
    EXPECT_EQ((group.rank() == 1 ? group.allgather("a", {"", "no room"}) : group.allgather("b"))[1], "a");
    if (group.rank() == 2) return;
    group.allgather("");
  });
  expect_all({endings[0], endings[1]}, Fault::fatal, "rank 2 (host host2) is gone");
}

TEST(BootstrapTest, NamesWhoNeverCame) {
  const auto first_of_three = [](std::size_t came, const std::string& late) {
    return patiently(late, 1, [&](Seconds limit) {
      std::vector<BootstrapOptions> all = members(3, limit);
      all.resize(came);
      return in_group(all, [](Bootstrap&) { FAIL(); });
    });
  };
  expect_all(first_of_three(2, "late 2"), Fault::fatal, "rank 2 has not come in time", "late 2");
  expect_all(first_of_three(1, "late 1 2"), Fault::fatal, "rank 1, rank 2 have not come in time", "late 1 2");
}

TEST(BootstrapTest, NamesWhoIsGoneToEverybody) {
  const auto endings = in_group(members(3), [](Bootstrap& group) {
    group.allgather("");
    if (group.rank() == 1) return;
    group.allgather("");
  });
  EXPECT_EQ(endings[1].words, "");
  expect_all({endings[0], endings[2]}, Fault::fatal, "rank 1 (host host1) is gone");
}

TEST(BootstrapTest, NamesWhoIsGoneBeforeWhoFailedPerhapsForItsSake) {
  const auto endings = in_group(members(2), [](Bootstrap& group) {
    group.allgather("");
    if (group.rank() == 0) group.allgather("", {"", "connection reset"});
  });
  EXPECT_EQ(endings[0].words, "rank 1 (host host1) is gone; rank 0 (host host0) failed: connection reset");
  EXPECT_EQ(facts_of(endings[0].causes), "gone 1, failed 0");
}

TEST(BootstrapTest, NoticesThatRankZeroIsGone) {
  const auto endings = in_group(members(3), [](Bootstrap& group) {
    group.allgather("");
    if (group.rank() != 0) group.allgather("");
  });
  expect_all({endings[1], endings[2]}, Fault::fatal, "rank 0 (host host0) is gone");
}

TEST(BootstrapTest, StaysBrokenOnceItIs) {
  const auto endings = in_group(members(2), [](Bootstrap& group) {
    if (group.rank() == 1) return;
    EXPECT_THROW(group.allgather("first"), Error);
    group.allgather("second");
  });
  EXPECT_EQ(endings[0].words, "rank 1 (host host1) is gone");
}

/// A process of its own that joins, takes part in one exchange and dies without a word.
pid_t start_mortal(const Address& root) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    const auto group = std::make_unique<Bootstrap>(root, member(1, 3));
    group->allgather("alive");
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

TEST(BootstrapTest, NamesAProcessThatDied) {
  Listener listener{"127.0.0.1"};
  const Address root{"127.0.0.1", listener.port()};
  const pid_t mortal = start_mortal(root);
  ASSERT_GT(mortal, 0);
  Ending other;
  std::thread survivor([&] {
    try {
      const auto group = std::make_unique<Bootstrap>(root, member(2, 3));
      group->allgather("");
      group->allgather("");
    } catch (const Error& error) {
      other = {error.fault(), error.what(), causes_of(error)};
    }
  });
  const auto group = std::make_unique<Bootstrap>(listener, member(0, 3));
  EXPECT_EQ(group->allgather("")[1], "alive");
  try {
    group->allgather("");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1 (host host1) is gone");
  }
  survivor.join();
  expect_all({other}, Fault::fatal, "rank 1 (host host1) is gone");
  int status = 0;
  ASSERT_EQ(::waitpid(mortal, &status, 0), mortal);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(BootstrapTest, PartsWithTheReasonThatWasGiven) {
  std::promise<void> left;
  const std::shared_future<void> has_left = left.get_future().share();
  const auto endings = in_group(members(3), [&](Bootstrap& group) {
    // As a watch does when rank 1 has gone while rank 0 is stuck elsewhere.
    if (group.rank() == 0) {
      EXPECT_EQ(group.part_from(1), "rank 1 (host host1) is gone");
      left.set_value();
    }
    if (group.rank() == 2) {
      has_left.wait();
      EXPECT_EQ(group.part_from(0), "rank 1 (host host1) is gone");
      group.allgather("");
    }
  });
  EXPECT_EQ(endings[2].words, "rank 1 (host host1) is gone");
}

TEST(BootstrapTest, EverybodyHearsWhatIsDifferent) {
  std::vector<BootstrapOptions> all = members(3);
  all[2].handshake.fields[0].second = "2";
  expect_all(in_group(all, [](Bootstrap&) { FAIL(); }), Fault::bad_input,
             "rank 2 (host host2) has version 2, rank 0 (host host0) has 1: every process must be given the "
             "same plan and the same engine",
             "disagrees 2");
}

TEST(BootstrapTest, EverybodyHearsOfAnotherWorldSize) {
  std::vector<BootstrapOptions> all = members(3);
  all[1].handshake.size = 5;
  expect_all(
      in_group(all, [](Bootstrap&) { FAIL(); }), Fault::bad_input,
      "rank 1 (host host1) has a world size of 5, rank 0 (host host0) has 3: every process must be given the "
      "same plan and the same engine");
}

TEST(BootstrapTest, TwoProcessesCannotHaveOneRank) {
  std::vector<BootstrapOptions> all = members(3);
  all[2].handshake.rank = 1;
  for (const Ending& ending : in_group(all, [](Bootstrap&) { FAIL(); })) {
    EXPECT_EQ(ending.fault, Fault::bad_input);
    EXPECT_EQ(ending.words.find("two processes say that they are rank 1, on hosts host"), 0U) << ending.words;
  }
}

TEST(BootstrapTest, TurnsAwayWhoHasAnotherToken) {
  std::vector<BootstrapOptions> all = members(2);
  all.push_back(member(1, 2));
  all[2].handshake.token = "another";
  // Rank 1 comes when the other has been turned away: that does not count.
  Listener listener{"127.0.0.1"};
  std::thread root([&] { EXPECT_EQ(Bootstrap(listener, all[0]).allgather("0")[1], "1"); });
  const Address address{"127.0.0.1", listener.port()};
  try {
    Bootstrap(address, all[2]);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::bad_input);
    EXPECT_STREQ(
        error.what(),
        "rank 0 (host host0) is of another run: its LINKSCOPE_TOKEN is not that of rank 1 (host host1)");
  }
  EXPECT_EQ(Bootstrap(address, all[1]).allgather("1")[0], "0");
  root.join();
}

TEST(BootstrapTest, OnlyWholeNumbersAreRankAndSize) {
  const std::string good = member(1, 2).handshake.text();
  ASSERT_TRUE(Handshake::parse(good));
  for (const char* other : {"true", "1.9", "4294967297", "1e300", "\"1\"", "null", "[]"}) {
    for (const std::string name : {"rank", "size"}) {
      Json said = Json::parse(good);
      said[name] = Json::parse(other);
      EXPECT_FALSE(Handshake::parse(said.dump())) << name << " " << other;
    }
  }
  EXPECT_FALSE(Handshake::parse("{}"));
  EXPECT_FALSE(Handshake::parse(std::string(200000, '[')));
}

/// Listens as rank 0 would, and answers whoever joins with one frame.
void welcome_with(Listener& listener, const Frame& answer) {
  std::optional<Socket> joining;
  while (!(joining = listener.accept())) wait_for_any({listener.descriptor()}, deadline_in(long_enough));
  Channel channel(*std::move(joining));
  Frame handshake;
  EXPECT_EQ(channel.receive(handshake, deadline_in(long_enough)), Outcome::done);
  EXPECT_EQ(channel.send(answer, deadline_in(long_enough)), Outcome::done);
}

TEST(BootstrapTest, NestingOfAnyDepthIsNoWelcomeAndNoRefusal) {
  for (const FrameKind kind : {FrameKind::welcome, FrameKind::refusal}) {
    for (const char first : {'[', '\x81'}) {
      Listener listener{"127.0.0.1"};
      std::thread root([&] { welcome_with(listener, {kind, 0, 0, std::string(200000, first)}); });
      EXPECT_THROW(Bootstrap({"127.0.0.1", listener.port()}, member(1, 2)), Error);
      root.join();
    }
  }
}

TEST(BootstrapTest, StrangersNeitherCountNorDelay) {
  Listener listener{"127.0.0.1"};
  const Address address{"127.0.0.1", listener.port()};
  Socket silent = Socket::connect(address, deadline_in(long_enough));
  Socket browser = Socket::connect(address, deadline_in(long_enough));
  ASSERT_EQ(browser.send("GET / HTTP/1.1\r\nHost: node7\r\n\r\n", "", deadline_in(long_enough)),
            Outcome::done);
  std::thread root([&] { EXPECT_EQ(Bootstrap(listener, member(0, 2)).allgather("0")[1], "1"); });
  EXPECT_EQ(Bootstrap(address, member(1, 2)).allgather("1")[0], "0");
  root.join();
}

/// Joins by hand as rank 1 of 2, then says what it likes.
Channel joined_by_hand(const Address& address) {
  Channel channel(Socket::connect(address, deadline_in(long_enough)));
  Frame frame{FrameKind::handshake, 0, 0, member(1, 2).handshake.text()};
  EXPECT_EQ(channel.send(frame, deadline_in(long_enough)), Outcome::done);
  EXPECT_EQ(channel.receive(frame, deadline_in(long_enough)), Outcome::done);
  EXPECT_EQ(frame.kind, FrameKind::welcome);
  EXPECT_EQ(channel.send({FrameKind::clock_set, 0, 0, {}}, deadline_in(long_enough)), Outcome::done);
  return channel;
}

TEST(BootstrapTest, RefusesWordsOfAnotherExchange) {
  Listener listener{"127.0.0.1"};
  std::thread other([&] {
    Channel channel = joined_by_hand({"127.0.0.1", listener.port()});
    ASSERT_EQ(channel.send({FrameKind::word, 2, steady_seconds(), "early"}, deadline_in(long_enough)),
              Outcome::done);
    Frame frame;
    EXPECT_EQ(channel.receive(frame, deadline_in(long_enough)), Outcome::closed);
    const Causes causes = causes_in(channel.abort_reason());
    ASSERT_FALSE(causes.empty());
    EXPECT_EQ(facts_of(causes), "out-of-step 1");
    EXPECT_NE(causes.front().words.find("out of step"), std::string::npos);
  });
  const auto group = std::make_unique<Bootstrap>(listener, member(0, 2));
  try {
    group->allgather("");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::fatal);
    EXPECT_STREQ(error.what(),
                 "rank 1 (host host1) is out of step: its message belongs to exchange 2, rank 0 (host host0) "
                 "is at exchange 1");
  }
  other.join();
}

TEST(BootstrapTest, RefusesWordsOfAnotherStepOfTheSameExchange) {
  const auto endings = in_group(members(3), [](Bootstrap& group) {
    group.allgather("", {"one", {}});
    group.allgather("1", {group.rank() == 2 ? "two" : "three", {}});
  });
  expect_all(endings, Fault::fatal,
             "rank 2 (host host2) is out of step: it is at two, rank 0 (host host0) is at three",
             "out-of-step 2");
}

TEST(BootstrapTest, OneClockNeedsNoOffset) {
  const auto endings = in_group(members(3), [](Bootstrap& group) {
    EXPECT_EQ(group.clock_offset(), 0);
    EXPECT_EQ(group.clock_uncertainty(), 0);
  });
  for (const Ending& ending : endings) EXPECT_EQ(ending.words, "");
}

/// Ranks whose clocks say to be different ones, and go ahead of the true one by `ahead` of their rank.
std::vector<BootstrapOptions> with_clocks(const std::vector<Seconds>& ahead) {
  std::vector<BootstrapOptions> all = members(static_cast<int>(ahead.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].handshake.clock = "clock" + std::to_string(i);
    all[i].clock = [more = ahead[i]] { return steady_seconds() + more; };
  }
  return all;
}

TEST(BootstrapTest, TellsOffsetsWithinTheirUncertainty) {
  const std::vector<Seconds> ahead{0, 0, -1234.5};
  std::vector<Seconds> uncertainties(3, 0);
  const auto endings = in_group(with_clocks(ahead), [&](Bootstrap& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    uncertainties[rank] = group.clock_uncertainty();
    EXPECT_GT(group.clock_uncertainty(), 0);
    EXPECT_LT(group.clock_uncertainty(), 0.1);
    // 1e-9: what doubles of this size can tell.
    if (rank > 0) {
      EXPECT_LE(std::abs(group.clock_offset() + ahead[rank]), group.clock_uncertainty() + 1e-9);
    }
  });
  for (const Ending& ending : endings) EXPECT_EQ(ending.words, "");
  EXPECT_EQ(uncertainties[0], std::max(uncertainties[1], uncertainties[2]));
}

TEST(BootstrapTest, DistrustsAClockThatOnlySaysToBeTheSame) {
  std::vector<BootstrapOptions> all = with_clocks({0, 100});
  all[1].handshake.clock = all[0].handshake.clock;
  const auto endings = in_group(all, [](Bootstrap& group) {
    if (group.rank() == 1) {
      EXPECT_LE(std::abs(group.clock_offset() + 100), group.clock_uncertainty() + 1e-9);
    }
    EXPECT_GT(group.clock_uncertainty(), 0);
  });
  for (const Ending& ending : endings) EXPECT_EQ(ending.words, "");
}

TEST(BootstrapTest, FollowsAClockThatDrifts) {
  std::vector<BootstrapOptions> all = with_clocks({0, 0});
  // Both clocks run a thousand times too fast, so that offsets grow old at once; the second jumps by 7 s on the way.
  std::atomic<Seconds> jump = 0;
  for (BootstrapOptions& one : all) {
    one.clock = [] { return 1000 * steady_seconds(); };
    one.limit = 1000 * long_enough;
  }
  all[1].clock = [&] { return 1000 * steady_seconds() + jump; };
  const auto endings = in_group(all, [&](Bootstrap& group) {
    group.allgather("");
    if (group.rank() == 1) jump = 7;
    const Deadline enough = deadline_in(long_enough);
    std::vector<std::string> words;
    do {
      const bool over = group.rank() == 0 ? has_passed(enough) : std::abs(group.clock_offset()) > 1;
      words = group.allgather(over ? "over" : "");
    } while (words[0].empty() && words[1].empty());
    if (group.rank() == 1) {
      EXPECT_LE(std::abs(group.clock_offset() + 7), group.clock_uncertainty() + 1e-6);
    }
  });
  for (const Ending& ending : endings) EXPECT_EQ(ending.words, "");
}

}  // namespace
}  // namespace linkscope
