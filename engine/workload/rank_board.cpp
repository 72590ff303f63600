#include "workload/rank_board.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "base/boot_id.hpp"
#include "base/error.hpp"
#include "base/pack.hpp"
#include "workload/reduction.hpp"

namespace linkscope::workload {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these words");

// Where the words of ranks begin, behind that of who has given up; those of pairs come last.
constexpr Bytes ranks_at = alignof(RankWords);
Bytes pairs_at(int ranks) { return ranks_at + static_cast<Bytes>(ranks) * sizeof(RankWords); }
Bytes board_bytes(int ranks) {
  return pairs_at(ranks) + static_cast<Bytes>(ranks) * static_cast<Bytes>(ranks) * sizeof(PairWords);
}

}  // namespace

BoardMemory::BoardMemory(int ranks) : ranks_(ranks), own_(board_bytes(ranks)) {
  std::byte* const base = own_->map();
  given_up_ = new (base) std::atomic<std::uint64_t>;
  for (int i = 0; i < ranks; ++i) new (base + ranks_at + static_cast<Bytes>(i) * sizeof(RankWords)) RankWords;
  for (int i = 0; i < ranks * ranks; ++i)
    new (base + pairs_at(ranks) + static_cast<Bytes>(i) * sizeof(PairWords)) PairWords;
  rank_words_ = std::launder(reinterpret_cast<RankWords*>(base + ranks_at));
  pair_words_ = std::launder(reinterpret_cast<PairWords*>(base + pairs_at(ranks)));
}

/// A process number and a descriptor mean nothing on another host.
BoardMemory::BoardMemory(int ranks, const std::string& told) : ranks_(ranks) {
  Unpack words(told, "a process offered no memory for ranks to share");
  if (words.text() != boot_id()) throw Error(Fault::unsupported, "ranks on different hosts share no memory");
  const auto key = words.get<host::MemoryFile::Key>();
  words.end();
  if (key.bytes != board_bytes(ranks))
    throw Error(Fault::broken, "a process offered memory for another number of ranks");
  std::byte* const base = foreign_.emplace(key).data();
  given_up_ = std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(base));
  rank_words_ = std::launder(reinterpret_cast<RankWords*>(base + ranks_at));
  pair_words_ = std::launder(reinterpret_cast<PairWords*>(base + pairs_at(ranks)));
}

BoardMemory::~BoardMemory() {
  if (own_) munmap(given_up_, own_->key().bytes);
}

std::string BoardMemory::told() const { return Pack().text(boot_id()).put(own_->key()).bytes(); }

RankBoard::RankBoard(std::shared_ptr<const BoardMemory> memory, int rank, host::SpinPolicy spin)
    : memory_(std::move(memory)), rank_(rank), spin_(spin) {
  memory_->rank(rank).process.store(getpid(), std::memory_order_release);
}

void RankBoard::require_all() const {
  const std::uint64_t who = memory_->given_up().load(std::memory_order_acquire);
  if (who != 0) throw Error(Fault::broken, "rank " + std::to_string(who - 1) + " of the schedule has failed");
}

void RankBoard::give_up() const noexcept {
  std::uint64_t nobody = 0;
  memory_->given_up().compare_exchange_strong(nobody, static_cast<std::uint64_t>(rank_) + 1);
}

void RankBoard::require_progress(Seconds begin) const {
  require_all();
  for (int rank = 0; rank < memory_->ranks(); ++rank) {
    const auto process = static_cast<pid_t>(memory_->rank(rank).process.load(std::memory_order_acquire));
    if (process > 0 && kill(process, 0) != 0 && errno == ESRCH)
      throw Error(Fault::broken, "the process of rank " + std::to_string(rank) + " of the schedule is gone");
  }
  if (steady_seconds() - begin < longest_wait) return;
  throw Error(Fault::broken, "rank " + std::to_string(rank_) + " has waited for another one for " +
                                 std::to_string(static_cast<int>(longest_wait)) + " s");
}

/// Nobody takes the turn after the next before all have read this one's numbers: so two places are enough.
void RankBoard::take_turn(ReductionWords RankWords::* which, const void* numbers, Bytes bytes) {
  ReductionWords& own = memory_->rank(rank_).*which;
  const std::uint64_t turns = own.turns.load(std::memory_order_relaxed);
  if (bytes > 0) std::memcpy(own.numbers[turns % 2].data(), numbers, bytes);
  own.turns.store(turns + 1, std::memory_order_release);
}

bool RankBoard::all_have_taken(ReductionWords RankWords::* which) const {
  const std::uint64_t turns = (memory_->rank(rank_).*which).turns.load(std::memory_order_relaxed);
  for (int rank = 0; rank < memory_->ranks(); ++rank) {
    if ((memory_->rank(rank).*which).turns.load(std::memory_order_acquire) < turns) return false;
  }
  return true;
}

/// Joins the numbers of the turn that all have taken last. Every rank joins them in the order of ranks, so that all get
/// the same bits.
void RankBoard::gather(ReductionWords RankWords::* which, const SmallCollective& what, void* numbers) const {
  const std::uint64_t turn = (memory_->rank(rank_).*which).turns.load(std::memory_order_relaxed) - 1;
  std::memcpy(numbers, (memory_->rank(0).*which).numbers[turn % 2].data(),
              static_cast<std::size_t>(what.count) * bytes_of(what.type));
  for (int rank = 1; rank < memory_->ranks(); ++rank)
    workload::reduce(what, numbers, (memory_->rank(rank).*which).numbers[turn % 2].data());
}

void RankBoard::reduce(const SmallCollective& what, void* numbers) {
  require_all();
  const Bytes each = bytes_of(what.type);
  auto* at = static_cast<std::byte*>(numbers);
  SmallCollective part = what;
  int left = what.count;
  do {
    part.count = std::min(left, static_cast<int>(ReductionWords::chunk / each));
    const Bytes bytes = static_cast<Bytes>(part.count) * each;
    take_turn(&RankWords::waited, at, bytes);
    wait([&] { return all_have_taken(&RankWords::waited); });
    if (part.count > 0) gather(&RankWords::waited, part, at);
    at += bytes;
    left -= part.count;
  } while (left > 0);
}

void RankBoard::begin_reduce(std::int64_t* numbers, int count) {
  if (static_cast<Bytes>(count) * sizeof *numbers > ReductionWords::chunk)
    throw Error(Fault::broken, "a reduction of more numbers than one turn has");
  reducing_ = numbers;
  reduction_ = {.type = NumberType::int64, .reduction = ReduceOp::sum, .count = count};
  take_turn(&RankWords::begun, numbers, static_cast<Bytes>(count) * sizeof *numbers);
}

bool RankBoard::reduced() {
  require_all();
  if (!all_have_taken(&RankWords::begun)) return false;
  gather(&RankWords::begun, reduction_, reducing_);
  return true;
}

}  // namespace linkscope::workload
