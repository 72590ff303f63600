#include "workload/thread_transport.hpp"

#include <cstring>
#include <thread>

namespace linkscope::workload {

ThreadTransport::ThreadTransport(RankBoard board, std::shared_ptr<Mailboxes> mailboxes,
                                 const Schedule& schedule, std::byte* base)
    : board_(std::move(board)),
      mailboxes_(std::move(mailboxes)),
      schedule_(&schedule),
      slots_(schedule, board_.rank()),
      base_(base) {
  mailboxes_->at(static_cast<std::size_t>(board_.rank())) = base;
}

ThreadTransport::Peer& ThreadTransport::peer(int rank) {
  Peer& found = peers_[rank];
  if (found.theirs == nullptr)
    found.theirs = mailboxes_->at(static_cast<std::size_t>(rank)) +
                   MessageSlots(*schedule_, rank).from().at(board_.rank()).offset;
  return found;
}

std::byte* ThreadTransport::outgoing(int to, Bytes offset, Bytes /*bytes*/) {
  Peer& found = peer(to);
  const PairWords& pair = board_.pair(board_.rank(), to);
  board_.wait([&] { return pair.freed.load(std::memory_order_acquire) >= found.sent_before_phase; });
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
  board_.pair(board_.rank(), to).sent.fetch_add(1, std::memory_order_release);
}

void ThreadTransport::wait() {
  for (auto& [from, found] : peers_) {
    const PairWords& pair = board_.pair(from, board_.rank());
    board_.wait([&] { return pair.sent.load(std::memory_order_acquire) >= found.received; });
  }
}

void ThreadTransport::unpacked() {
  for (auto& [from, found] : peers_) {
    found.sent_before_phase = found.sent;
    if (found.freed == found.received) continue;
    found.freed = found.received;
    board_.pair(from, board_.rank()).freed.store(found.freed, std::memory_order_release);
  }
}

void ThreadTransport::send_from(int to, const std::byte* from, Bytes bytes) {
  Peer& found = peer(to);
  found.waiting.emplace_back(from, bytes);
  hand_over(to, found);
}

/// Copies what is first in the line where its place is free. True where nothing is left in the line.
bool ThreadTransport::hand_over(int to, Peer& found) {
  PairWords& pair = board_.pair(board_.rank(), to);
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
    board_.require_all();
    std::this_thread::yield();
  }
  return all;
}

std::optional<ArrivedMessage> ThreadTransport::arrived() {
  board_.require_all();
  for (auto& [to, found] : peers_) hand_over(to, found);
  for (auto& [from, found] : peers_) {
    const PairWords& pair = board_.pair(from, board_.rank());
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

bool ThreadTransport::reduced() {
  if (board_.reduced()) return true;
  std::this_thread::yield();
  return false;
}

}  // namespace linkscope::workload
