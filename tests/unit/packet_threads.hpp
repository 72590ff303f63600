// Packets sent by threads: members' staging, a worker as a thread, and launches of its calls.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <ostream>
#include <random>
#include <thread>
#include <vector>

#include "collective/protocol/packet_protocol.hpp"
#include "collective/protocol/workspace.hpp"
#include "member_threads.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {

inline constexpr Extent load_bytes = 8;  // two elements of int32
inline constexpr Extent packet_bytes = 16;
inline constexpr Extent workers = 2;
inline constexpr std::uint64_t low_half = 0xFFFFFFFFU;

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

inline std::ostream& operator<<(std::ostream& out, const Arrangement& arrangement) {
  return out << name_of(arrangement.kind) << " of " << arrangement.bytes << " B, " << arrangement.members
             << " members, " << (arrangement.trips == Trips::two ? "two trips" : "one trip") << ", "
             << arrangement.sets << " sets";
}

inline CollectiveShape shape_of(const Arrangement& arrangement) {
  return {arrangement.kind, ElementType::int32, InPlace::out, arrangement.members, arrangement.bytes};
}

inline Pieces pieces_of(const Arrangement& arrangement, int me) {
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

/// Numbers that come from the call's number, all of which are checked.
class CheckedEnds {
 public:
  explicit CheckedEnds(CollectiveKind kind) : adds_(combine_of(kind) == Combine::sum) {}
  void begin(std::uint64_t call) { call_ = call; }
  [[nodiscard]] int take(const Pieces& pieces, int piece, Extent at) const {
    return input_element(call_, pieces.me, (pieces.source_step * static_cast<Extent>(piece) + at) / 4);
  }
  void put(const Pieces& pieces, int piece, Extent at, int number) {
    const Extent index = (pieces.source_step * static_cast<Extent>(adds_ ? piece : pieces.me) + at) / 4;
    ++checked_;
    if (number != (adds_ ? summed_element(call_, pieces.members, index) : input_element(call_, piece, index)))
      ++wrong_;
  }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }

 private:
  bool adds_;
  std::uint64_t call_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t checked_ = 0;
};

/// What a worker does wrong in every second call: it takes what the call before has sent it, or stores no result.
enum class Planted { nothing, stale_read, lost_call };

/// A thread as worker `worker` of a member. `Ends` is where its numbers come from and go to.
template <class Ends>
class ThreadPort {
 public:
  using Payload = std::uint64_t;
  struct Raw {
    std::uint64_t first = 0, second = 0;
    Payload load = 0;
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

  ThreadPort(const Node& node, int me, Extent worker, Ends ends, Planted planted = Planted::nothing)
      : node_(node),
        pieces_(pieces_of(node.arrangement(), me)),
        worker_(worker),
        ends_(std::move(ends)),
        planted_(planted),
        random_(static_cast<unsigned>(me) * direct::workers + worker + 1U) {}

  [[nodiscard]] Extent worker() const { return worker_; }
  [[nodiscard]] Extent workers() const { return direct::workers; }
  [[nodiscard]] Extent packets() const { return node_.staging().packets; }
  [[nodiscard]] const Pieces& pieces() const { return pieces_; }
  [[nodiscard]] std::uint64_t wrong() const { return ends_.wrong(); }
  [[nodiscard]] std::uint64_t checked() const { return ends_.checked(); }
  /// The launch is over.
  void end_launch(std::uint64_t calls) { made_ += calls; }

  void begin(std::uint64_t turn) {
    now_ = made_ + turn;
    ends_.begin(now_);
    const bool last = pieces_.me + 1 == pieces_.members;  // so late at times that a sender could run ahead
    const unsigned most = last ? 2048 : 64;
    for (unsigned idle = random_() % (last ? 16 : 8) == 0 ? random_() % most : 0; idle > 0; --idle)
      std::this_thread::yield();
  }
  [[nodiscard]] std::uint64_t call(std::uint64_t turn) const { return made_ + turn; }

  [[nodiscard]] Payload take(int piece, Extent packet) const {
    const auto number = [&](Extent at) -> std::uint64_t {
      const bool there = pieces_.rest(piece, pieces_.source_step, at) != 0;
      return there ? static_cast<std::uint32_t>(ends_.take(pieces_, piece, at)) : 0U;
    };
    return number(packet * load_bytes) | number(packet * load_bytes + 4) << 32U;
  }
  void put(int piece, Extent packet, Payload load) {
    if (planted_ == Planted::lost_call && now_ % 2 == 0) return;
    for (Extent i = 0; i < 2; ++i) {
      const Extent at = packet * load_bytes + 4 * i;
      if (pieces_.rest(piece, pieces_.destination_step, at) != 0)
        ends_.put(pieces_, piece, at, static_cast<int>(load >> (32U * i)));
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
    const auto load = [&](std::uint64_t wanted) -> Raw {
      std::atomic<std::uint64_t>* words = words_at(node_.place(pieces_.me), area, from, packet, wanted);
      const std::uint64_t first = words[0].load(std::memory_order_relaxed);
      const std::uint64_t second = words[1].load(std::memory_order_relaxed);
      return {first, second, (first & low_half) | second << 32U};
    };
    Raw raw = load(call);
    if (planted_ == Planted::stale_read && call % 2 == 0) raw.load = load(call - 1).load;
    return raw;
  }
  [[nodiscard]] bool complete(const Raw& raw, std::uint64_t call) const {
    return raw.first >> 32U == (call & low_half) && raw.second >> 32U == (call & low_half);
  }
  [[nodiscard]] Payload load_of(const Raw& raw) const { return raw.load; }
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
  [[nodiscard]] std::atomic<std::uint64_t>* words_at(Place& place, Extent area, int from, Extent packet,
                                                     std::uint64_t call) const {
    const Extent offset =
        node_.staging().offset(pieces_.members, call, area, from) - packets_offset + packet * packet_bytes;
    return &place.staging[offset / sizeof(std::uint64_t)];
  }

  const Node& node_;
  Pieces pieces_;
  Extent worker_;
  Ends ends_;
  Planted planted_;
  std::minstd_rand random_;
  std::uint64_t made_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t looks_ = 0;
};

template <class Ends>
void launch(ThreadPort<Ends>& port, const Arrangement& arrangement, std::uint64_t repeats) {
  repeat_calls(port, port.pieces(), repeats, [&](std::uint64_t turn) {
    if (arrangement.trips == Trips::two) return two_shot(port, port.pieces(), turn);
    if (combine_of(arrangement.kind) == Combine::sum)
      return one_shot<Combine::sum>(port, port.pieces(), turn);
    return one_shot<Combine::copy>(port, port.pieces(), turn);
  });
  port.end_launch(repeats);
}

}  // namespace linkscope::direct
