// RankBoard: one rank's view of the words by which the ranks of a schedule keep in step and reduce numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/host/memory_file.hpp"
#include "backend/host/spin.hpp"
#include "base/steady_clock.hpp"
#include "base/units.hpp"
#include "model/schedule.hpp"

namespace linkscope::workload {

/// A rank that has waited for others for so long says that they do not come.
inline constexpr Seconds longest_wait = 60;

/// Words between two ranks, each on a line of its own: messages sent, and messages whose place is free again.
struct PairWords {
  alignas(128) std::atomic<std::uint64_t> sent;
  std::atomic<Bytes> bytes;  ///< of the last message
  alignas(128) std::atomic<std::uint64_t> freed;
};

/// What a rank offers to reductions: its numbers of the last two turns, and how many turns it has taken.
struct ReductionWords {
  static constexpr Bytes chunk = 32 * KiB;
  alignas(128) std::atomic<std::uint64_t> turns;
  alignas(128) std::array<std::array<std::byte, chunk>, 2> numbers;
};

/// Those of one rank.
struct RankWords {
  std::atomic<std::int64_t> process;  ///< 0 until the rank is there
  ReductionWords waited;              ///< of RankBoard::reduce()
  ReductionWords begun;               ///< of RankBoard::begin_reduce()
};

/// The words of all ranks, in host memory that one process makes and others of its host map.
class BoardMemory {
 public:
  /// Makes it. Throws Error{no_memory}.
  explicit BoardMemory(int ranks);
  /// Maps another process's, by its told(). Throws Error{unsupported} where this process cannot reach it, and
  /// Error{broken} for other words, or where the board is of another number of ranks.
  BoardMemory(int ranks, const std::string& told);
  ~BoardMemory();
  BoardMemory(const BoardMemory&) = delete;
  BoardMemory& operator=(const BoardMemory&) = delete;

  /// What another process maps it by. Only of one that was made here.
  [[nodiscard]] std::string told() const;

  [[nodiscard]] int ranks() const { return ranks_; }
  /// The rank that has given up, counted from 1; 0 while none has.
  [[nodiscard]] std::atomic<std::uint64_t>& given_up() const { return *given_up_; }
  [[nodiscard]] RankWords& rank(int rank) const { return rank_words_[rank]; }
  [[nodiscard]] PairWords& pair(int source, int destination) const {
    return pair_words_[static_cast<std::ptrdiff_t>(source) * ranks_ + destination];
  }

 private:
  int ranks_;
  std::optional<host::MemoryFile> own_;
  std::optional<host::ForeignPages> foreign_;
  std::atomic<std::uint64_t>* given_up_ = nullptr;
  RankWords* rank_words_ = nullptr;
  PairWords* pair_words_ = nullptr;
};

/// One thread's. A wait ends with Error{broken} after a minute, when another rank has given up, or when another rank's
/// process is gone: every wait ends.
class RankBoard {
 public:
  /// `spin`: whether each rank has a CPU of its own.
  RankBoard(std::shared_ptr<const BoardMemory> memory, int rank,
            host::SpinPolicy spin = host::SpinPolicy::spin_first);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] PairWords& pair(int source, int destination) const {
    return memory_->pair(source, destination);
  }
  /// Waits until `is_so`.
  template <class Condition>
  void wait(const Condition& is_so) const {
    if (is_so()) return;
    const Seconds begin = steady_seconds();
    host::Spin spin(spin_);
    for (unsigned looks = 1; !is_so(); ++looks) {
      spin.once();
      if (looks % looks_between_clocks == 0) require_progress(begin);
    }
  }
  /// Throws Error{broken} where a rank has given up.
  void require_all() const;
  void give_up() const noexcept;

  /// As Transport::collective.
  void reduce(const SmallCollective& what, void* numbers);
  /// As Transport::begin_reduce and reduced. It may be under way while reduce() is called.
  void begin_reduce(std::int64_t* numbers, int count);
  [[nodiscard]] bool reduced();

 private:
  static constexpr unsigned looks_between_clocks = 1U << 12U;

  /// Throws Error{broken} where waiting since `begin` makes no sense any more.
  void require_progress(Seconds begin) const;
  void take_turn(ReductionWords RankWords::* which, const void* numbers, Bytes bytes);
  [[nodiscard]] bool all_have_taken(ReductionWords RankWords::* which) const;
  void gather(ReductionWords RankWords::* which, const SmallCollective& what, void* numbers) const;

  std::shared_ptr<const BoardMemory> memory_;
  int rank_;
  host::SpinPolicy spin_;
  std::int64_t* reducing_ = nullptr;
  SmallCollective reduction_{};
};

}  // namespace linkscope::workload
