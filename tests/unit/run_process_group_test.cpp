// Several processes (here: threads) at one plan: who does what, who writes, and that a failure is everybody's.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

#include "bootstrap_group.hpp"
#include "comm/process_group.hpp"
#include "fake_backend.hpp"
#include "record_lines.hpp"
#include "run/executor.hpp"
#include "run/process_group_gate.hpp"
#include "thread_group.hpp"

namespace linkscope {
namespace {

TEST(Steps, EveryRankSeesEveryOutcomeInOrder) {
  in_group_of(3, [](ThreadGroup& group) {
    const auto outcomes = group.allgather_json([&]() -> Json { return group.rank() * 10; });
    EXPECT_EQ(outcomes, (std::vector<Json>{0, 10, 20}));
    const auto words =
        group.allgather_words([&] { return std::string("\0\xFF", 2) + std::to_string(group.rank()); });
    EXPECT_EQ(words[2], std::string("\0\xFF", 2) + "2") << "any bytes";
  });
}

TEST(Steps, AFailureIsEverybodysAndNamesTheRank) {
  in_group_of(3, [](ThreadGroup& group) {
    try {
      group.collective_try([&] {
        if (group.rank() == 1) throw Error(Fault::no_memory, "none left");
      });
      ADD_FAILURE() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::no_memory);
      EXPECT_STREQ(error.what(), "rank 1: none left");
      EXPECT_EQ(causes_of(error), (Causes{{CauseKind::failed, {1}, "rank 1: none left"}}));
    }
  });
}

TEST(Steps, WhoFailedFirstIsNamedAndNotWhoFailedForItsSake) {
  in_group_of(3, [&](ThreadGroup& group) {
    if (group.rank() == 2) group.offset = -60;  // a minute ago by rank 0's clock
    try {
      group.collective_try([&] {
        if (group.rank() == 2) throw Error(Fault::broken, "the cable is out");
        throw Error(group.rank() == 0 ? Fault::fatal : Fault::broken, "the other end is gone");
      });
      ADD_FAILURE() << "went on";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "rank 2: the cable is out");
      EXPECT_EQ(error.fault(), Fault::fatal) << "rank 0 cannot go on";
    }
  });
}

/// What rank 0 of two says that fails where rank 1 is held up for longer than `limit`.
std::string failed_where_another_is_held_up(Seconds limit) {
  Listener listener{"127.0.0.1"};
  std::promise<void> gave_up;
  const auto end_of = [&](int rank, const std::function<void()>& step) {
    BootstrapOptions own;
    own.handshake.rank = rank;
    own.handshake.size = 2;
    own.handshake.host = "node" + std::to_string(rank);
    own.limit = limit;
    try {
      const auto group = rank == 0 ? std::make_unique<Bootstrap>(listener, own)
                                   : std::make_unique<Bootstrap>(Address{"127.0.0.1", listener.port()}, own);
      group->collective_try(step);
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::fatal);
      return std::string(error.what());
    }
    return std::string();
  };
  // As ranks that set a communicator up together, of which one cannot.
  std::thread held_up([&] { end_of(1, [&] { gave_up.get_future().wait(); }); });
  std::string words = end_of(0, [] { throw Error(Fault::broken, "no such device"); });
  gave_up.set_value();
  held_up.join();
  return words;
}

TEST(Steps, WhereAProcessIsHeldUpTheFailureThatMayBeWhyIsTold) {
  const std::string told =
      "rank 0 (host node0) failed: no such device; rank 1 (host node1) has not come within ";
  std::string words = failed_where_another_is_held_up(0.5);
  // A machine may be too busy for the two to meet within that.
  if (!words.starts_with(told)) words = failed_where_another_is_held_up(60);
  EXPECT_EQ(words.substr(0, told.size()), told);
}

TEST(Steps, AFailureWithoutItsMomentIsOfAnotherBuild) {
  in_group_of(2, [](ThreadGroup& group) {
    if (group.rank() == 1) {
      std::string word;
      Json::to_cbor({{"fault", static_cast<int>(Fault::broken)}, {"what", "the cable is out"}}, word);
      group.allgather(word);
      return;
    }
    try {
      group.collective_try([] {});
      ADD_FAILURE() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::fatal);
      EXPECT_STREQ(error.what(),
                   "rank 1 answers as an engine of another build does: build all from one version");
    }
  });
}

TEST(Steps, ProcessesAtDifferentPlacesOfTheCodeAreOutOfStep) {
  const auto endings = in_group(members(2), [](Bootstrap& group) {
    if (group.rank() == 0) group.collective_try([] {});
    if (group.rank() == 1) group.collective_try([] {});
  });
  for (const Ending& ending : endings) {
    EXPECT_EQ(ending.fault, Fault::fatal);
    EXPECT_EQ(ending.words.find("rank 1 (host host1) is out of step: it is at run_process_group_test.cpp:"),
              0U)
        << ending.words;
  }
}

TEST(Steps, AGroupOfOneThrowsWhatTheStepThrew) {
  ProcessGroup group;
  try {
    group.collective_try([] { throw Error(Fault::mismatch, "wrong"); });
    ADD_FAILURE() << "went on";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "wrong");
  }
}

/// A case with a flow on each of two ranks; `more` goes into rank 1's, `first` into rank 0's.
std::string two_ranks(const std::string& id, const std::string& more = "", const std::string& first = "") {
  const auto flow = [](int rank, const std::string& extra) {
    const std::string end = R"({"device":"numa:0","memory":"pageable","rank":)" + std::to_string(rank) + "}";
    return R"({"method":"memcpy","executor":"numa:0","bytes":1000000,"rank":)" + std::to_string(rank) +
           R"(,"source":)" + end + R"(,"destination":)" + end + extra + "}";
  };
  return R"({"id":")" + id + R"(","clock":"device","flows":[)" + flow(0, first) + "," + flow(1, more) + "]}";
}

struct GroupRun {
  std::array<std::vector<Json>, 2> records;
  std::array<Health, 2> health{};
  std::array<std::size_t, 2> lanes{};
};

GroupRun run(
    const std::string& cases, const std::function<void(int, FakeParts&)>& change = [](int, FakeParts&) {}) {
  GroupRun result;
  in_group_of(2, [&](ThreadGroup& group) {
    Plan plan = parse_plan(R"({"schema":1,"options":{},"cases":[)" + cases + "]}");
    const auto rank = static_cast<std::size_t>(group.rank());
    FakeParts fakes = fake_backend();
    change(group.rank(), fakes);
    std::FILE* file = std::tmpfile();
    JsonLines out(fileno(file));
    result.health[rank] = Executor(fakes.backend, plan, Environment{}, group, out).run();
    result.lanes[rank] = fakes.gate->held.size();
    result.records[rank] = lines_of(file);
  });
  return result;
}

TEST(ExecutorOfSeveral, RankZeroGivesTheRowOfAllAndTheOthersSayEnd) {
  const GroupRun result = run(two_ranks("a"));
  ASSERT_EQ(result.records[0].size(), 4U);
  const Json& row = result.records[0][2];
  ASSERT_EQ(row["status"], "ok") << row;
  EXPECT_EQ(row["flows"].size(), 2U);
  EXPECT_NEAR(row["flows"][1]["gbps"]["median"].get<double>(), 100.0, 1e-3) << "measured by rank 1";
  EXPECT_EQ(result.records[1][2], (Json{{"record", "end"}, {"id", "a"}}));
  EXPECT_EQ(result.lanes, (std::array<std::size_t, 2>{1, 1})) << "each holds its own flow alone";
}

TEST(ExecutorOfSeveral, DataThatArrivesWrongAnywhereFailsTheCaseAndTheNextOneRuns) {
  const GroupRun result = run(two_ranks("a", R"(,"parameters":{"wrong_in_round":2})") + "," + two_ranks("b"));
  EXPECT_EQ(result.records[0][2]["status"], "failed");
  const Json& row = result.records[0][2];
  EXPECT_NE(row["reason"].get<std::string>().find("rank 1"), std::string::npos);
  EXPECT_EQ(row["causes"], Json::array({{{"how", "failed"}, {"ranks", {1}}, {"words", row["reason"]}}}));
  EXPECT_EQ(result.records[0][4]["status"], "ok");
  EXPECT_EQ(result.health[0], Health::sound);
}

TEST(ExecutorOfSeveral, AShapeWithAFaultOnOneRankIsDiscardedByAll) {
  const GroupRun result =
      run(two_ranks("a", R"(,"parameters":{"shapes":2,"faulty_shape":1})", R"(,"parameters":{"shapes":2})"));
  const Json& row = result.records[0][2];
  ASSERT_EQ(row["status"], "ok") << row;
  for (const Json& flow : row["flows"]) {
    EXPECT_EQ(flow["setting"], (Json{{"blocks", 2}}));
    EXPECT_EQ(flow["tuned"].size(), 1U);
    EXPECT_EQ(flow["notes"][0], "discarded in tuning: blocks 1: flow 1: member 1 did not come");
  }
  EXPECT_EQ(result.health, (std::array<Health, 2>{Health::sound, Health::sound}));
}

TEST(ExecutorOfSeveral, WhatOneRankCannotDoIsSkippedByAll) {
  const auto change = [](int rank, FakeParts& fakes) {
    if (rank == 1) fakes.memory->refusals = 2;
  };
  const GroupRun result = run(two_ranks("a") + "," + two_ranks("b"), change);
  EXPECT_EQ(result.records[0][2]["status"], "skipped");
  EXPECT_EQ(result.records[0][2]["reason"], "rank 1: out of fake memory");
  EXPECT_EQ(result.records[0][4]["status"], "ok");
}

/// What FakeMessage has done in one process.
struct MessageLog {
  int assembled = 0;
  int finished = 0;
  bool wrong = false;  ///< its data arrive so
};

class FakeMessageParts final : public PreparedParts {
 public:
  explicit FakeMessageParts(MessageLog& log) : log_(&log) {
    if (log.wrong) transfer_.wrong_in_round = 1;
  }
  [[nodiscard]] std::vector<Transfer*> transfers() const override { return {&transfer_}; }
  void finish() override { ++log_->finished; }

 private:
  MessageLog* log_;
  mutable FakeTransfer transfer_{10e-6};
};

/// A message from rank 0 to rank 1, whose assemble() would wait for the other process as MPI's first one does.
Method fake_message(MessageLog& log) {
  Method row{.spec = {"message", "fake"}};
  row.parts = [](const Flow& flow) {
    return std::vector<FlowPart>{{0, flow.executor, flow.source, std::nullopt, Timing::timed},
                                 {1, flow.executor, std::nullopt, flow.destination, Timing::untimed}};
  };
  row.assemble = [&log](const Flow&, const std::vector<LocalPart>&) {
    ++log.assembled;
    return std::make_unique<FakeMessageParts>(log);
  };
  return row;
}

/// A case of one such message.
std::string one_message(const std::string& id) {
  return R"({"id":")" + id + R"(","clock":"host","flows":[{"method":"message",)" +
         R"("executor":"numa:0","bytes":1000000,"source":{"device":"numa:0","memory":"pageable"},)" +
         R"("destination":{"device":"numa:0","memory":"pageable","rank":1}}]})";
}

TEST(ExecutorOfSeveral, PartsAreFinishedWhereTheCaseHasEndedWellAndOnlyThere) {
  for (const bool wrong : {false, true}) {
    std::array<MessageLog, 2> logs{MessageLog{}, MessageLog{0, 0, wrong}};
    const auto change = [&](int rank, FakeParts& fakes) {
      fakes.backend.methods.push_back(fake_message(logs.at(static_cast<std::size_t>(rank))));
    };
    const GroupRun result = run(one_message("a"), change);
    EXPECT_EQ(result.records[0][2]["status"], wrong ? "failed" : "ok") << result.records[0][2];
    for (const MessageLog& log : logs) EXPECT_EQ(log.finished, wrong ? 0 : 1);
  }
}

TEST(ExecutorOfSeveral, NobodyAssemblesAFlowBeforeAllHaveTheirMemory) {
  std::array<MessageLog, 2> logs{};
  const auto change = [&](int rank, FakeParts& fakes) {
    fakes.backend.methods.push_back(fake_message(logs.at(static_cast<std::size_t>(rank))));
    if (rank == 0) fakes.memory->refusals = 2;
  };
  const GroupRun result = run(one_message("a"), change);
  EXPECT_EQ(result.records[0][2]["status"], "skipped");
  EXPECT_EQ(result.records[0][2]["reason"], "rank 0: out of fake memory");
  EXPECT_EQ(logs[0].assembled + logs[1].assembled, 0);
  const GroupRun two = run(one_message("a") + "," + one_message("b"), change);
  EXPECT_EQ(two.records[0][4]["status"], "ok") << two.records[0][4];
  EXPECT_EQ(logs[0].assembled, 1);
  EXPECT_EQ(logs[1].assembled, 1);
}

TEST(ExecutorOfSeveral, AGateThatBreaksOnOneRankEndsAll) {
  const auto change = [](int rank, FakeParts& fakes) {
    if (rank == 1) fakes.gate->fault = Fault::broken;
  };
  const GroupRun result = run(two_ranks("a") + "," + two_ranks("b"), change);
  EXPECT_EQ(result.health, (std::array<Health, 2>{Health::lost, Health::lost}));
  EXPECT_EQ(result.records[0].back()["status"], "failed") << "its partners may hang: no other case is begun";
}

TEST(ExecutorOfSeveral, FewerProcessesThanAFlowNamesIsASkip) {
  Plan plan = parse_plan(R"({"schema":1,"options":{},"cases":[)" + two_ranks("a") + "]}");
  FakeParts fakes = fake_backend();
  ProcessGroup group;
  std::FILE* file = std::tmpfile();
  JsonLines out(fileno(file));
  Executor(fakes.backend, plan, Environment{}, group, out).run();
  const auto records = lines_of(file);
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_EQ(records[2]["reason"], "it needs 2 processes, this run has 1");
}

TEST(RemoteTransfer, StatesWhatTheTransferDoesWhereItIs) {
  FakeTransfer here(2.0);
  TransferFacts& facts = here.own_facts();
  EXPECT_EQ(RemoteTransfer(statement_of(here)).facts(), facts) << "what nobody stated";
  facts = {3,
           40,
           70,
           20,
           0.25,
           true,
           true,
           true,
           64,
           "xccl",
           {{{"blocks", 1}, {"threads", 2}}, {}},
           {{"walks", 3}},
           true};
  EXPECT_EQ(RemoteTransfer(statement_of(here)).facts(), facts);
}

/// Starts one lane on each of two ranks. The agreed moment is the real clock's, of which the fake gate knows nothing.
std::vector<Span> spans_of_one_lane_each(ProcessGroupGate& gate, FakeGate& own, int rank) {
  FakeTransfer here(2.0);
  RemoteTransfer there(statement_of(here));
  std::vector<Lane> lanes{{&here, 1}, {&there, 1}};
  if (rank == 1) std::swap(lanes[0], lanes[1]);
  gate.hold(lanes, Clock::device);
  own.open();
  return gate.collect();
}

TEST(ProcessGroupGate, SpansOfAllRanksAreOnRankZerosClock) {
  in_group_of(2, [](ThreadGroup& group) {
    group.offset = group.rank() == 1 ? -500 : 0;
    FakeGate own;
    own.now = group.rank() == 1 ? 1500 : 1000;
    ProcessGroupGate gate(own, group);
    const std::vector<Span> spans = spans_of_one_lane_each(gate, own, group.rank());
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_DOUBLE_EQ(spans[0].start, 1000);
    EXPECT_DOUBLE_EQ(spans[1].start, 1000) << "1500 on a clock that is 500 s ahead";
    EXPECT_DOUBLE_EQ(spans[1].end, 1002);
  });
}

TEST(ProcessGroupGate, ErrorsOfDevicesAndHostsAddUpOverAllRanks) {
  in_group_of(2, [](ThreadGroup& group) {
    group.uncertainty = group.rank() == 1 ? 10e-6 : 0;
    FakeGate own;
    own.errors = group.rank() == 1 ? std::vector<Seconds>{1e-6, 3e-6} : std::vector<Seconds>{2e-6};
    ProcessGroupGate gate(own, group);
    static_cast<void>(spans_of_one_lane_each(gate, own, group.rank()));
    EXPECT_DOUBLE_EQ(gate.timeline_uncertainty(), 13e-6 + 11e-6) << "two GPUs of rank 1";
  });
}

}  // namespace
}  // namespace linkscope
