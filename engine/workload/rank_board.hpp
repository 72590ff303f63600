// RankBoard: one rank's view of the words by which the ranks of a schedule keep in step and reduce numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "backend/host/spin.hpp"
#include "base/steady_clock.hpp"
#include "base/units.hpp"
#include "model/schedule.hpp"
#include "workload/board_memory.hpp"

namespace linkscope::workload {

/// Until a rank that waits for others says that they do not come.
inline constexpr Seconds longest_wait = 60;

/// Words between two ranks, each on a line of its own: messages sent, and messages whose place is free again.
struct PairWords {
  alignas(128) std::atomic<std::uint64_t> sent;
  std::atomic<Bytes> bytes;  ///< of the last one
  alignas(128) std::atomic<std::uint64_t> freed;
};

/// What a rank offers to reductions: its numbers, of the last two turns, and how many turns it has taken.
struct ReductionWords {
  static constexpr Bytes chunk = 32 * KiB;
  alignas(128) std::atomic<std::uint64_t> turns;
  alignas(128) std::array<std::array<std::byte, chunk>, 2> numbers;
};

/// One thread's. A wait ends with Error{broken} after a minute, when another rank has given up, or when another rank's
/// process is gone: every wait ends.
class RankBoard {
 public:
  [[nodiscard]] static Bytes bytes(int ranks);
  /// `spin`: whether each rank has a CPU of its own.
  RankBoard(std::shared_ptr<const BoardMemory> memory, int ranks, int rank,
            host::SpinPolicy spin = host::SpinPolicy::spin_first);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] PairWords& pair(int source, int destination) const;
  /// Waits until `is_so`.
  template <class Condition>
  void wait(const Condition& is_so) const {
    if (is_so()) return;
    Patience patience(*this);
    for (host::Spin spin(spin_); !is_so(); spin.once()) patience.look();
  }
  /// Throws Error{broken} where a rank has given up.
  void require_all() const;
  /// The same, and where a rank's process is gone.
  void require_all_alive() const;
  void give_up() const noexcept;

  /// As Transport::collective.
  void reduce(const SmallCollective& what, void* numbers);
  /// As Transport::begin_reduce and reduced, apart from reduce().
  void begin_reduce(std::int64_t* numbers, int count);
  [[nodiscard]] bool reduced();

 private:
  /// Looks now and then whether waiting makes sense.
  class Patience {
   public:
    explicit Patience(const RankBoard& board) : board_(board), begin_(steady_seconds()) {}
    void look();

   private:
    const RankBoard& board_;
    Seconds begin_;
    unsigned looks_ = 0;
  };
  struct Shared;
  struct RankWords;

  [[nodiscard]] RankWords& words(int rank) const;
  void take_turn(ReductionWords RankWords::* which, const void* numbers, Bytes bytes);
  [[nodiscard]] bool all_have_taken(ReductionWords RankWords::* which, std::uint64_t turns) const;
  /// Of the turn that all have taken last, in the order of ranks: each rank gets the same bits.
  void gather(ReductionWords RankWords::* which, const SmallCollective& what, void* numbers, int count) const;

  std::shared_ptr<const BoardMemory> memory_;
  int ranks_;
  int rank_;
  host::SpinPolicy spin_;
  std::int64_t* reducing_ = nullptr;
  int reducing_count_ = 0;
};

}  // namespace linkscope::workload
