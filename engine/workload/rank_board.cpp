#include "workload/rank_board.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "workload/reduction.hpp"

namespace linkscope::workload {
namespace {

constexpr unsigned looks_between_clocks = 1U << 12U;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these words");

}  // namespace

struct RankBoard::RankWords {
  std::atomic<std::int64_t> process;  ///< 0 until the rank is there
  ReductionWords waited;
  ReductionWords begun;
};

struct RankBoard::Shared {
  alignas(128) std::atomic<std::uint64_t> given_up;  ///< the rank that did, counted from 1

  [[nodiscard]] RankWords* ranks() { return reinterpret_cast<RankWords*>(this + 1); }
  [[nodiscard]] PairWords* pairs(int count) { return reinterpret_cast<PairWords*>(ranks() + count); }
};

Bytes RankBoard::bytes(int ranks) {
  const auto count = static_cast<Bytes>(ranks);
  return sizeof(Shared) + count * sizeof(RankWords) + count * count * sizeof(PairWords);
}

RankBoard::RankBoard(std::shared_ptr<const BoardMemory> memory, int ranks, int rank, host::SpinPolicy spin)
    : memory_(std::move(memory)), ranks_(ranks), rank_(rank), spin_(spin) {
  words(rank).process.store(getpid(), std::memory_order_release);
}

RankBoard::RankWords& RankBoard::words(int rank) const {
  return reinterpret_cast<Shared*>(memory_->data())->ranks()[rank];
}

PairWords& RankBoard::pair(int source, int destination) const {
  return reinterpret_cast<Shared*>(memory_->data())
      ->pairs(ranks_)[static_cast<std::size_t>(source) * static_cast<std::size_t>(ranks_) +
                      static_cast<std::size_t>(destination)];
}

void RankBoard::require_all() const {
  const std::uint64_t who =
      reinterpret_cast<const Shared*>(memory_->data())->given_up.load(std::memory_order_acquire);
  if (who != 0) throw Error(Fault::broken, "rank " + std::to_string(who - 1) + " of the schedule has failed");
}

void RankBoard::require_all_alive() const {
  require_all();
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto process = static_cast<pid_t>(words(rank).process.load(std::memory_order_acquire));
    if (process > 0 && kill(process, 0) != 0 && errno == ESRCH)
      throw Error(Fault::broken, "the process of rank " + std::to_string(rank) + " of the schedule is gone");
  }
}

void RankBoard::give_up() const noexcept {
  std::uint64_t nobody = 0;
  reinterpret_cast<Shared*>(memory_->data())
      ->given_up.compare_exchange_strong(nobody, static_cast<std::uint64_t>(rank_) + 1);
}

void RankBoard::Patience::look() {
  if (++looks_ % looks_between_clocks != 0) return;
  board_.require_all_alive();
  if (steady_seconds() - begin_ < longest_wait) return;
  throw Error(Fault::broken, "rank " + std::to_string(board_.rank()) + " has waited for another one for " +
                                 std::to_string(static_cast<int>(longest_wait)) + " s");
}

/// Nobody takes the turn after the next before all have read this one's numbers: so two places are enough.
void RankBoard::take_turn(ReductionWords RankWords::* which, const void* numbers, Bytes bytes) {
  ReductionWords& own = words(rank_).*which;
  const std::uint64_t turns = own.turns.load(std::memory_order_relaxed);
  if (bytes > 0) std::memcpy(own.numbers[turns % 2].data(), numbers, bytes);
  own.turns.store(turns + 1, std::memory_order_release);
}

bool RankBoard::all_have_taken(ReductionWords RankWords::* which, std::uint64_t turns) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if ((words(rank).*which).turns.load(std::memory_order_acquire) < turns) return false;
  }
  return true;
}

void RankBoard::gather(ReductionWords RankWords::* which, const SmallCollective& what, void* numbers,
                       int count) const {
  const std::uint64_t turn = (words(rank_).*which).turns.load(std::memory_order_relaxed) - 1;
  const SmallCollective part{.type = what.type, .reduction = what.reduction, .count = count};
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::byte* const theirs = (words(rank).*which).numbers[turn % 2].data();
    if (rank == 0) {
      std::memcpy(numbers, theirs, static_cast<std::size_t>(count) * bytes_of(what.type));
    } else {
      workload::reduce(part, numbers, theirs);
    }
  }
}

void RankBoard::reduce(const SmallCollective& what, void* numbers) {
  require_all();
  const Bytes each = bytes_of(what.type);
  const int most = static_cast<int>(ReductionWords::chunk / each);
  auto* at = static_cast<std::byte*>(numbers);
  int left = what.count;
  do {
    const int count = std::min(left, most);
    take_turn(&RankWords::waited, at, static_cast<Bytes>(count) * each);
    const std::uint64_t turns = words(rank_).waited.turns.load(std::memory_order_relaxed);
    wait([&] { return all_have_taken(&RankWords::waited, turns); });
    if (count > 0) gather(&RankWords::waited, what, at, count);
    at += static_cast<Bytes>(count) * each;
    left -= count;
  } while (left > 0);
}

void RankBoard::begin_reduce(std::int64_t* numbers, int count) {
  if (static_cast<Bytes>(count) * sizeof *numbers > ReductionWords::chunk)
    throw Error(Fault::broken, "a reduction of more numbers than one turn has");
  reducing_ = numbers;
  reducing_count_ = count;
  take_turn(&RankWords::begun, numbers, static_cast<Bytes>(count) * sizeof *numbers);
}

bool RankBoard::reduced() {
  require_all();
  if (!all_have_taken(&RankWords::begun, words(rank_).begun.turns.load(std::memory_order_relaxed)))
    return false;
  gather(&RankWords::begun, {.type = NumberType::int64, .reduction = ReduceOp::sum, .count = reducing_count_},
         reducing_, reducing_count_);
  return true;
}

}  // namespace linkscope::workload
