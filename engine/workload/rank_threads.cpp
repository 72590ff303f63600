#include "workload/rank_threads.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "workload/reduction.hpp"

namespace linkscope::workload {
RankThreads::RankThreads(int ranks, host::SpinPolicy spin)
    : ranks_(ranks),
      spin_(spin),
      pairs_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)),
      bases_(static_cast<std::size_t>(ranks)),
      given_(static_cast<std::size_t>(ranks)) {
  for (Begun& one : begun_) one.numbers.resize(static_cast<std::size_t>(ranks));
}

void RankThreads::require_all() const {
  if (given_up_.load(std::memory_order_acquire))
    throw Error(Fault::broken, "another rank of this process has failed");
}

void RankThreads::meet() {
  const std::uint64_t meeting = meeting_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
    arrived_.store(0, std::memory_order_relaxed);
    meeting_.store(meeting + 1, std::memory_order_release);
    return;
  }
  wait([&] { return meeting_.load(std::memory_order_acquire) != meeting; });
}

ThreadTransport::ThreadTransport(std::shared_ptr<RankThreads> threads, const Schedule& schedule, int rank,
                                 std::byte* base)
    : threads_(std::move(threads)), schedule_(&schedule), rank_(rank), slots_(schedule, rank), base_(base) {
  threads_->expose(rank, base);
}

ThreadTransport::Peer& ThreadTransport::peer(int rank) {
  Peer& found = peers_[rank];
  if (found.theirs == nullptr)
    found.theirs = threads_->base(rank) + MessageSlots(*schedule_, rank).from().at(rank_).offset;
  return found;
}

std::byte* ThreadTransport::outgoing(int to, Bytes offset, Bytes /*bytes*/) {
  Peer& found = peer(to);
  const RankThreads::Pair& pair = threads_->pair(rank_, to);
  threads_->wait([&] { return pair.freed.load(std::memory_order_acquire) >= found.sent_before_phase; });
  return found.theirs + offset;
}

const std::byte* ThreadTransport::incoming(int from, Bytes offset) {
  return base_ + slots_.from().at(from).offset + offset;
}

void ThreadTransport::receive(int from, Bytes /*offset*/, Bytes /*bytes*/) {
  Peer& found = peers_[from];
  if (schedule_->particles) {
    found.posted = true;
  } else {
    ++found.received;
  }
}

void ThreadTransport::send(int to, Bytes /*offset*/, Bytes /*bytes*/) {
  ++peer(to).sent;
  threads_->pair(rank_, to).sent.fetch_add(1, std::memory_order_release);
}

void ThreadTransport::wait() {
  for (auto& [from, found] : peers_) {
    const RankThreads::Pair& pair = threads_->pair(from, rank_);
    threads_->wait([&] { return pair.sent.load(std::memory_order_acquire) >= found.received; });
  }
}

void ThreadTransport::unpacked() {
  for (auto& [from, found] : peers_) {
    found.sent_before_phase = found.sent;
    if (found.freed == found.received) continue;
    found.freed = found.received;
    threads_->pair(from, rank_).freed.store(found.freed, std::memory_order_release);
  }
}

void ThreadTransport::send_from(int to, const std::byte* from, Bytes bytes) {
  Peer& found = peer(to);
  found.waiting.emplace_back(from, bytes);
  hand_over(to, found);
}

/// Copies what is first in the line where its place is free. True where nothing is left in the line.
bool ThreadTransport::hand_over(int to, Peer& found) {
  RankThreads::Pair& pair = threads_->pair(rank_, to);
  while (!found.waiting.empty() && pair.freed.load(std::memory_order_acquire) == found.sent) {
    const auto [from, bytes] = found.waiting.front();
    std::memcpy(found.theirs, from, bytes);
    pair.bytes.store(bytes, std::memory_order_relaxed);
    pair.sent.store(++found.sent, std::memory_order_release);
    found.waiting.pop_front();
  }
  return found.waiting.empty();
}

bool ThreadTransport::sent() {
  bool all = true;
  for (auto& [to, found] : peers_) all = hand_over(to, found) && all;
  if (!all) {
    threads_->require_all();
    std::this_thread::yield();
  }
  return all;
}

std::optional<ArrivedMessage> ThreadTransport::arrived() {
  threads_->require_all();
  for (auto& [to, found] : peers_) hand_over(to, found);
  for (auto& [from, found] : peers_) {
    const RankThreads::Pair& pair = threads_->pair(from, rank_);
    if (!found.posted || pair.sent.load(std::memory_order_acquire) == found.received) continue;
    ++found.received;
    found.posted = false;
    return ArrivedMessage{from, pair.bytes.load(std::memory_order_relaxed)};
  }
  return std::nullopt;
}

void ThreadTransport::cancel() {
  for (auto& [from, found] : peers_) found.posted = false;
}

void ThreadTransport::collective(const SmallCollective& what, void* numbers) {
  if (what.count == 0) {
    threads_->meet();
    return;
  }
  std::vector<std::byte> result(static_cast<std::size_t>(what.count) * bytes_of(what.type));
  threads_->give(rank_, numbers);
  threads_->meet();
  std::memcpy(result.data(), threads_->given(0), result.size());
  for (int rank = 1; rank < threads_->ranks(); ++rank) reduce(what, result.data(), threads_->given(rank));
  threads_->meet();
  std::memcpy(numbers, result.data(), result.size());
}

void ThreadTransport::begin_reduce(std::int64_t* numbers, int count) {
  RankThreads::Begun& begun = threads_->begun(reductions_);
  auto& own = begun.numbers[static_cast<std::size_t>(rank_)];
  std::copy(numbers, numbers + count, own.begin());
  reducing_ = numbers;
  reducing_count_ = count;
  begun.arrived.fetch_add(1, std::memory_order_acq_rel);
}

/// Nobody begins the next but one before all have seen the end of this one: each begins one only after the last.
bool ThreadTransport::reduced() {
  threads_->require_all();
  RankThreads::Begun& begun = threads_->begun(reductions_);
  const std::uint64_t due = (reductions_ / 2 + 1) * static_cast<std::uint64_t>(threads_->ranks());
  if (begun.arrived.load(std::memory_order_acquire) < due) {
    std::this_thread::yield();
    return false;
  }
  for (int i = 0; i < reducing_count_; ++i) {
    reducing_[i] = 0;
    for (const auto& one : begun.numbers) reducing_[i] += one[static_cast<std::size_t>(i)];
  }
  ++reductions_;
  return true;
}

}  // namespace linkscope::workload
