// RankBoard: one rank's view of the words by which the ranks of a schedule keep in step and reduce numbers; what they
// reduce, and how.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "backend/host/page_mapping.hpp"
#include "backend/host/spin.hpp"
#include "base/error.hpp"
#include "base/pack.hpp"
#include "base/steady_clock.hpp"
#include "base/units.hpp"
#include "model/schedule.hpp"

namespace linkscope::workload {

/// Calls `with(Number{})`, the number being of the C++ type of `type`.
template <class With>
void with_number(NumberType type, const With& with) {
  switch (type) {
    case NumberType::int32:
      return with(std::int32_t{});
    case NumberType::int64:
      return with(std::int64_t{});
    case NumberType::float64:
      return with(double{});
  }
}

/// `numbers` and `further`: `what.count` of `what.type`; joined into the first, of any alignment. Called rank by rank in
/// their order, every rank gets the same bits.
inline void reduce(const SmallCollective& what, void* numbers, const void* further) {
  with_number(what.type, [&]<class Number>(Number own) {
    Number other{};
    for (std::size_t i = 0; std::cmp_less(i, what.count); ++i) {
      std::byte* const at = static_cast<std::byte*>(numbers) + i * sizeof own;
      std::memcpy(&own, at, sizeof own);
      std::memcpy(&other, static_cast<const std::byte*>(further) + i * sizeof other, sizeof other);
      own = what.reduction == ReduceOp::sum   ? own + other
            : what.reduction == ReduceOp::min ? std::min(own, other)
                                              : std::max(own, other);
      std::memcpy(at, &own, sizeof own);
    }
  });
}

/// Writes what `rank` reduces: numbers that differ by rank and place, with a period of `reduced_period`, so small that
/// every sum is exact.
inline constexpr int reduced_period = 61;
inline void write_own_numbers(NumberType type, int count, int rank, std::byte* to) {
  with_number(type, [&]<class Number>(Number own) {
    for (int i = 0; i < count; ++i, to += sizeof own) {
      own = static_cast<Number>((13 * rank + i) % reduced_period + 1);
      std::memcpy(to, &own, sizeof own);
    }
  });
}

/// A rank that has waited for others for so long says that they do not come.
inline constexpr Seconds longest_wait = 60;

/// Words between two ranks, each on a line of its own: messages sent, and messages whose place is free again.
struct PairWords {
  alignas(128) std::atomic<std::uint64_t> sent;
  std::atomic<Bytes> bytes;  ///< of the last message
  alignas(128) std::atomic<std::uint64_t> freed;
};

inline constexpr Bytes reduction_chunk = 32 * KiB;

/// The words of one rank.
struct RankWords {
  std::atomic<std::int64_t> process;              ///< 0 until the rank is there
  alignas(128) std::atomic<std::uint64_t> turns;  ///< that it has taken in reductions
  alignas(128) std::array<std::array<std::byte, reduction_chunk>, 2> numbers;  ///< of its last two turns
};

/// The words of all ranks, in host memory that one process makes and others of its host map.
class BoardMemory {
 public:
  /// Makes it. Throws Error{no_memory}.
  explicit BoardMemory(int ranks) : ranks_(ranks), own_(bytes_for(ranks)), pages_(own_->map()) {
    std::byte* const base = pages_.get();
    new (base) std::atomic<std::uint64_t>;
    for (int i = 0; i < ranks; ++i)
      new (base + ranks_at + static_cast<Bytes>(i) * sizeof(RankWords)) RankWords;
    for (int i = 0; i < ranks * ranks; ++i)
      new (base + pairs_at(ranks) + static_cast<Bytes>(i) * sizeof(PairWords)) PairWords;
    find_words();
  }
  /// Maps another process's, by its told(). Throws Error{unsupported} where this process cannot reach it, and
  /// Error{broken} for other words, or where the board is of another number of ranks.
  BoardMemory(int ranks, const std::string& told) : ranks_(ranks) {
    Unpack words(told, "a process offered no memory for ranks to share");
    // A process number and a descriptor mean nothing on another host.
    if (words.text() != boot_id())
      throw Error(Fault::unsupported, "ranks on different hosts share no memory");
    const auto key = words.get<host::MemoryFile::Key>();
    words.end();
    if (key.bytes != bytes_for(ranks))
      throw Error(Fault::broken, "a process offered memory for another number of ranks");
    pages_ = host::map_foreign(key);
    find_words();
  }

  /// Returns what another process maps it by. Only the process that made it has that.
  [[nodiscard]] std::string told() const { return Pack().text(boot_id()).put(own_->key()).bytes(); }

  [[nodiscard]] int ranks() const { return ranks_; }
  /// Holds the rank that has given up, counted from 1; 0 while none has.
  [[nodiscard]] std::atomic<std::uint64_t>& given_up() const { return *given_up_; }
  [[nodiscard]] RankWords& rank(int rank) const { return rank_words_[rank]; }
  [[nodiscard]] PairWords& pair(int source, int destination) const {
    return pair_words_[static_cast<std::ptrdiff_t>(source) * ranks_ + destination];
  }

 private:
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these words");
  // The first word says who has given up; those of ranks follow from here on, and those of pairs come last.
  static constexpr Bytes ranks_at = alignof(RankWords);
  [[nodiscard]] static Bytes pairs_at(int ranks) {
    return ranks_at + static_cast<Bytes>(ranks) * sizeof(RankWords);
  }
  [[nodiscard]] static Bytes bytes_for(int ranks) {
    return pairs_at(ranks) + static_cast<Bytes>(ranks) * static_cast<Bytes>(ranks) * sizeof(PairWords);
  }
  void find_words() {
    std::byte* const base = pages_.get();
    given_up_ = std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(base));
    rank_words_ = std::launder(reinterpret_cast<RankWords*>(base + ranks_at));
    pair_words_ = std::launder(reinterpret_cast<PairWords*>(base + pairs_at(ranks_)));
  }

  int ranks_;
  std::optional<host::MemoryFile> own_;
  host::MappedPages pages_;
  std::atomic<std::uint64_t>* given_up_ = nullptr;
  RankWords* rank_words_ = nullptr;
  PairWords* pair_words_ = nullptr;
};

/// A board serves one thread. A wait ends with Error{broken} after a minute, when another rank has given up, or when another rank's
/// process is gone: every wait ends.
class RankBoard {
 public:
  /// `spin`: whether each rank has a CPU of its own.
  RankBoard(std::shared_ptr<const BoardMemory> memory, int rank,
            host::SpinPolicy spin = host::SpinPolicy::spin_first)
      : memory_(std::move(memory)), rank_(rank), spin_(spin) {
    memory_->rank(rank).process.store(getpid(), std::memory_order_release);
  }

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
  void require_all() const {
    const std::uint64_t who = memory_->given_up().load(std::memory_order_acquire);
    if (who != 0)
      throw Error(Fault::broken, "rank " + std::to_string(who - 1) + " of the schedule has failed");
  }

  void give_up() const noexcept {
    std::uint64_t nobody = 0;
    memory_->given_up().compare_exchange_strong(nobody, static_cast<std::uint64_t>(rank_) + 1);
  }

  /// Does what Transport::collective says.
  void reduce(const SmallCollective& what, void* numbers) {
    require_all();
    auto* at = static_cast<std::byte*>(numbers);
    SmallCollective part = what;
    int left = what.count;
    do {
      part.count = std::min(left, static_cast<int>(reduction_chunk / bytes_of(what.type)));
      take_turn(part, at);
      wait([&] { return all_have_taken(); });
      gather();
      at += part.bytes();
      left -= part.count;
    } while (left > 0);
  }

  /// These do what Transport::begin_reduce and reduced say.
  void begin_reduce(std::int64_t* numbers, int count) {
    if (static_cast<Bytes>(count) * sizeof *numbers > reduction_chunk)
      throw Error(Fault::broken, "a reduction of more numbers than one turn has");
    take_turn({.type = NumberType::int64, .reduction = ReduceOp::sum, .count = count}, numbers);
  }

  [[nodiscard]] bool reduced() {
    require_all();
    if (!all_have_taken()) return false;
    gather();
    return true;
  }

 private:
  static constexpr unsigned looks_between_clocks = 1U << 12U;

  /// Throws Error{broken} where waiting since `begin` makes no sense any more.
  void require_progress(Seconds begin) const {
    require_all();
    for (int rank = 0; rank < memory_->ranks(); ++rank) {
      const auto process = static_cast<pid_t>(memory_->rank(rank).process.load(std::memory_order_acquire));
      if (process > 0 && kill(process, 0) != 0 && errno == ESRCH)
        throw Error(Fault::broken,
                    "the process of rank " + std::to_string(rank) + " of the schedule is gone");
    }
    if (steady_seconds() - begin < longest_wait) return;
    throw Error(Fault::broken, "rank " + std::to_string(rank_) + " has waited for another one for " +
                                   std::to_string(static_cast<int>(longest_wait)) + " s");
  }

  /// Nobody takes the turn after the next before all have read this one's numbers: so two places are enough.
  void take_turn(const SmallCollective& what, void* numbers) {
    turn_ = what;
    numbers_ = numbers;
    RankWords& own = memory_->rank(rank_);
    const std::uint64_t turns = own.turns.load(std::memory_order_relaxed);
    if (what.count > 0) std::memcpy(own.numbers[turns % 2].data(), numbers, what.bytes());
    own.turns.store(turns + 1, std::memory_order_release);
  }

  [[nodiscard]] bool all_have_taken() const {
    const std::uint64_t turns = memory_->rank(rank_).turns.load(std::memory_order_relaxed);
    for (int rank = 0; rank < memory_->ranks(); ++rank) {
      if (memory_->rank(rank).turns.load(std::memory_order_acquire) < turns) return false;
    }
    return true;
  }

  /// Joins the numbers of the turn that all have taken. Every rank joins them in the order of ranks, so that all get the
  /// same bits.
  void gather() const {
    if (turn_.count == 0) return;
    const std::uint64_t turn = memory_->rank(rank_).turns.load(std::memory_order_relaxed) - 1;
    std::memcpy(numbers_, memory_->rank(0).numbers[turn % 2].data(), turn_.bytes());
    for (int rank = 1; rank < memory_->ranks(); ++rank)
      workload::reduce(turn_, numbers_, memory_->rank(rank).numbers[turn % 2].data());
  }

  std::shared_ptr<const BoardMemory> memory_;
  int rank_;
  host::SpinPolicy spin_;
  SmallCollective turn_{};   ///< what this rank's last turn is for
  void* numbers_ = nullptr;  ///< and where the result goes
};

}  // namespace linkscope::workload
