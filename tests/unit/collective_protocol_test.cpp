// The packets' protocol, tried out by threads: every member's workers against those of the others, at any pace.
#include "collective/protocol/packet_protocol.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <ostream>
#include <random>
#include <thread>
#include <vector>

#include "collective/protocol/workspace.hpp"
#include "member_threads.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

constexpr Extent load_bytes = 8;  // two elements of int32
constexpr Extent packet_bytes = 16;
constexpr Extent workers = 2;
constexpr std::uint64_t low_half = 0xFFFFFFFFU;

/// One member's staging and what its counterparts tell it. As in a GPU, words of 64 bits are all that is whole.
struct Place {
  explicit Place(std::size_t words) : staging(words) {}
  std::vector<std::atomic<std::uint64_t>> staging;
  std::array<std::array<std::atomic<std::uint64_t>, most_members>, workers> credits{};
  std::atomic<bool> poison{false};
  std::atomic<int> missing{-1};
};

struct Arrangement {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Trips trips = Trips::one;
  int members = 3;
  Bytes bytes = 24;
  Extent sets = 2;
  std::uint64_t timeout = 10'000'000;  ///< looks
};

std::ostream& operator<<(std::ostream& out, const Arrangement& arrangement) {
  return out << name_of(arrangement.kind) << " of " << arrangement.bytes << " B, " << arrangement.members
             << " members, " << (arrangement.trips == Trips::two ? "two trips" : "one trip") << ", "
             << arrangement.sets << " sets";
}

CollectiveShape shape_of(const Arrangement& arrangement) {
  return {arrangement.kind, ElementType::int32, InPlace::out, arrangement.members, arrangement.bytes};
}

Pieces pieces_of(const Arrangement& arrangement, int me) {
  return arrangement.trips == Trips::two ? two_shot_pieces(shape_of(arrangement), me)
                                         : one_shot_pieces(shape_of(arrangement), me);
}

/// What the members share.
class Node {
 public:
  explicit Node(const Arrangement& arrangement) : arrangement_(arrangement) {
    const Pieces pieces = pieces_of(arrangement, 0);
    staging_.packets = (pieces.bytes + load_bytes - 1) / load_bytes;
    staging_.place_bytes = staging_.packets * packet_bytes;
    staging_.areas = arrangement.trips == Trips::two ? 2 : 1;
    staging_.sets = arrangement.sets;
    for (int member = 0; member < arrangement.members; ++member)
      places_.push_back(std::make_unique<Place>(staging_.bytes(arrangement.members) / sizeof(std::uint64_t)));
  }
  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  [[nodiscard]] const Staging& staging() const { return staging_; }
  [[nodiscard]] Place& place(int member) const { return *places_[static_cast<std::size_t>(member)]; }

 private:
  Arrangement arrangement_;
  Staging staging_;
  std::vector<std::unique_ptr<Place>> places_;
};

/// A thread as worker `worker` of a member: numbers come from the call's number, and every result is checked at once.
class ThreadPort {
 public:
  using Payload = std::uint64_t;
  struct Raw {
    std::uint64_t first = 0, second = 0;
  };
  class Sum {
   public:
    void add(Payload load) {
      low_ += static_cast<std::uint32_t>(load);
      high_ += static_cast<std::uint32_t>(load >> 32U);
    }
    [[nodiscard]] Payload total() const { return low_ | static_cast<std::uint64_t>(high_) << 32U; }

   private:
    std::uint32_t low_ = 0, high_ = 0;
  };

  ThreadPort(const Node& node, int me, Extent worker, unsigned seed)
      : node_(node), pieces_(pieces_of(node.arrangement(), me)), worker_(worker), random_(seed) {}

  [[nodiscard]] Extent worker() const { return worker_; }
  [[nodiscard]] Extent workers() const { return direct::workers; }
  [[nodiscard]] Extent packets() const { return node_.staging().packets; }
  [[nodiscard]] const Pieces& pieces() const { return pieces_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  /// The launch is over.
  void end_launch(std::uint64_t calls) { made_ += calls; }

  void begin(std::uint64_t turn) {
    now_ = made_ + turn;
    const bool last = pieces_.me + 1 == pieces_.members;  // so late at times that a sender could run ahead
    const unsigned most = last ? 2048 : 64;
    for (unsigned idle = random_() % (last ? 16 : 8) == 0 ? random_() % most : 0; idle > 0; --idle)
      std::this_thread::yield();
  }
  [[nodiscard]] std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }

  [[nodiscard]] Payload take(int piece, Extent packet) const {
    const Extent at = packet * load_bytes;
    const Extent index = (pieces_.source_step * static_cast<Extent>(piece) + at) / 4;
    const auto number = [&](Extent i) {
      return static_cast<std::uint32_t>(input_element(now_, pieces_.me, i));
    };
    return number(index) | static_cast<std::uint64_t>(number(index + 1)) << 32U;
  }
  void put(int piece, Extent packet, Payload load) {
    for (Extent i = 0; i < 2; ++i) {
      const Extent at = packet * load_bytes + 4 * i;
      if (pieces_.rest(piece, pieces_.destination_step, at) == 0) continue;
      ++checked_;
      if (static_cast<int>(load >> (32U * i)) != expected(piece, at)) ++wrong_;
    }
  }
  void send(int to, Extent area, Extent packet, Payload load, std::uint64_t call) {
    std::atomic<std::uint64_t>* words = words_at(node_.place(to), area, pieces_.me, packet, call);
    const std::uint64_t flag = call << 32U;
    words[0].store(flag | (load & low_half), std::memory_order_relaxed);
    if (random_() % 16U == 0) std::this_thread::yield();  // the two words may part
    words[1].store(flag | load >> 32U, std::memory_order_relaxed);
  }
  [[nodiscard]] Raw look(int from, Extent area, Extent packet, std::uint64_t call) const {
    std::atomic<std::uint64_t>* words = words_at(node_.place(pieces_.me), area, from, packet, call);
    return {words[0].load(std::memory_order_relaxed), words[1].load(std::memory_order_relaxed)};
  }
  [[nodiscard]] bool complete(const Raw& raw, std::uint64_t call) const {
    return raw.first >> 32U == (call & low_half) && raw.second >> 32U == (call & low_half);
  }
  [[nodiscard]] Payload load_of(const Raw& raw) const { return (raw.first & low_half) | raw.second << 32U; }
  void join() {}
  bool agree(bool yes) {
    if (yes) looks_ = 0;
    return yes;
  }
  bool wait_for(MemberSet late) {
    std::this_thread::yield();
    Place& own = node_.place(pieces_.me);
    if (own.poison) return false;
    const bool root_waits_itself = pieces_.traffic == Traffic::one_way && late == only(0);
    if (root_waits_itself || ++looks_ < node_.arrangement().timeout) return true;
    own.missing = std::countr_zero(late);
    for (int member = 0; member < pieces_.members; ++member) node_.place(member).poison = true;
    return false;
  }

  bool await_credits(std::uint64_t turn) {
    const std::uint64_t needed = node_.staging().read_before(call(turn));
    for (int member = 0; member < pieces_.members; ++member) {
      if (!holds(pieces_.targets, member)) continue;
      auto& credit = node_.place(pieces_.me).credits[worker_][static_cast<std::size_t>(member)];
      while (credit.load(std::memory_order_acquire) < needed) {
        if (!wait_for(only(member))) return false;
      }
      looks_ = 0;
    }
    return true;
  }
  bool give_credits(std::uint64_t turn, bool fine) {
    const bool told = fine && node_.staging().told_after(call(turn));
    for (int member = 0; member < pieces_.members && told; ++member) {
      if (member == pieces_.me || !holds(pieces_.origins, member)) continue;
      node_.place(member).credits[worker_][static_cast<std::size_t>(pieces_.me)].store(
          call(turn), std::memory_order_release);
    }
    return fine;
  }

 private:
  [[nodiscard]] int expected(int piece, Extent at) const {
    const bool adds = combine_of(node_.arrangement().kind) == Combine::sum;
    const Extent index = (pieces_.source_step * static_cast<Extent>(adds ? piece : pieces_.me) + at) / 4;
    return adds ? summed_element(now_, pieces_.members, index) : input_element(now_, piece, index);
  }
  [[nodiscard]] std::atomic<std::uint64_t>* words_at(Place& place, Extent area, int from, Extent packet,
                                                     std::uint64_t call) const {
    const Extent offset =
        node_.staging().offset(pieces_.members, call, area, from) - packets_offset + packet * packet_bytes;
    return &place.staging[offset / sizeof(std::uint64_t)];
  }

  const Node& node_;
  Pieces pieces_;
  Extent worker_;
  std::minstd_rand random_;
  std::uint64_t made_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t checked_ = 0;
};

void launch(ThreadPort& port, const Arrangement& arrangement, std::uint64_t repeats) {
  repeat_calls(port, port.pieces(), repeats, [&](std::uint64_t turn) {
    if (arrangement.trips == Trips::two) return two_shot(port, port.pieces(), turn);
    if (combine_of(arrangement.kind) == Combine::sum)
      return one_shot<Combine::sum>(port, port.pieces(), turn);
    return one_shot<Combine::copy>(port, port.pieces(), turn);
  });
  port.end_launch(repeats);
}

Outcome run(const Node& node, std::uint64_t calls, MemberSet absent) {
  const auto port_of = [&node](int member, Extent worker) {
    const auto seed = static_cast<unsigned>(member) * workers + worker + 1U;
    return std::make_unique<ThreadPort>(node, member, worker, seed);
  };
  return run_members(
      node.arrangement().members, workers, calls, absent, port_of,
      [&node](ThreadPort& port, std::uint64_t repeats) { launch(port, node.arrangement(), repeats); });
}

TEST(Staging, AsksForWhatLayInThePlacesOfTheNextHalfAndTellsAfterEach) {
  Staging staging;
  for (const std::uint64_t call : {1, 2, 3, 4, 5}) {
    EXPECT_EQ(staging.read_before(call), call > 2 ? call - 2 : 0) << call;
    EXPECT_TRUE(staging.told_after(call)) << call;
  }
  staging.sets = 8;
  for (std::uint64_t call = 1; call <= 40; ++call) {
    const std::uint64_t needed = staging.read_before(call);
    EXPECT_EQ(needed, call % 4 == 1 && call >= 9 ? call - 5 : 0) << call;
    EXPECT_TRUE(needed == 0 || staging.told_after(needed)) << call;
    EXPECT_EQ(staging.told_after(call), call % 4 == 0) << call;
    for (std::uint64_t next = call; needed != 0 && next < call + 4; ++next)
      EXPECT_EQ(staging.offset(4, next, 0, 1), staging.offset(4, next - 8, 0, 1)) << "read by " << needed;
  }
}

class Protocol : public ::testing::TestWithParam<Arrangement> {};

TEST_P(Protocol, DeliversEveryCallsOwnNumbersHoweverLateMembersAre) {
  constexpr std::uint64_t calls = 400;
  const Node node(GetParam());
  const Outcome outcome = run(node, calls, 0);
  EXPECT_EQ(outcome.wrong, 0U);
  EXPECT_EQ(outcome.checked, calls * elements_received(shape_of(GetParam())));
}

TEST_P(Protocol, GivesUpOnAMemberThatNeverComes) {
  Arrangement arrangement = GetParam();
  arrangement.timeout = 100'000;
  const int lost = 1;
  const Node node(arrangement);
  const Outcome outcome = run(node, 4 * arrangement.sets, only(lost));
  EXPECT_EQ(outcome.wrong, 0U);
  int named = -1;
  for (int member = 0; member < arrangement.members; ++member) {
    if (member == lost) continue;
    if (node.place(member).missing >= 0) named = node.place(member).missing;
  }
  EXPECT_EQ(named, lost);
}

INSTANTIATE_TEST_SUITE_P(Collectives, Protocol,
                         ::testing::Values(Arrangement{CollectiveKind::all_reduce, Trips::one, 2, 8},
                                           Arrangement{CollectiveKind::all_reduce, Trips::one, 5, 52},
                                           Arrangement{CollectiveKind::all_reduce, Trips::two, 2, 100},
                                           Arrangement{CollectiveKind::all_reduce, Trips::two, 3, 4},
                                           Arrangement{CollectiveKind::all_reduce, Trips::two, 5, 244},
                                           Arrangement{CollectiveKind::reduce, Trips::one, 3, 20},
                                           Arrangement{CollectiveKind::reduce, Trips::one, 4, 20, 8},
                                           Arrangement{CollectiveKind::broadcast, Trips::one, 4, 36},
                                           Arrangement{CollectiveKind::broadcast, Trips::one, 3, 36, 8},
                                           Arrangement{CollectiveKind::broadcast, Trips::one, 5, 36, 4},
                                           Arrangement{CollectiveKind::reduce_scatter, Trips::one, 4, 48},
                                           Arrangement{CollectiveKind::all_gather, Trips::one, 3, 36},
                                           Arrangement{CollectiveKind::all_to_all, Trips::one, 5, 60}));

}  // namespace
}  // namespace linkscope::direct
