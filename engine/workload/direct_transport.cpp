#include "workload/direct_transport.hpp"

#include <string>
#include <thread>

#include "base/error.hpp"

namespace linkscope::workload {

std::map<int, DirectPeer> local_peers(const std::vector<MessageSlots>& slots, int rank,
                                      const std::vector<std::byte*>& bases) {
  std::map<int, DirectPeer> peers;
  for (const auto& [peer, slot] : slots[static_cast<std::size_t>(rank)].from) peers[peer] = {};
  for (std::size_t peer = 0; peer < slots.size(); ++peer) {
    if (const MessageSlot* const to = slots[peer].from_peer(rank))
      peers[static_cast<int>(peer)] = {bases[peer] + to->offset, to->bytes};
  }
  return peers;
}

DirectTransport::DirectTransport(RankBoard board, const Schedule& schedule, MessageOrder order,
                                 Packer& packer, std::map<int, DirectPeer> peers)
    : board_(std::move(board)),
      sends_particles_(schedule.particles.has_value()),
      order_(order),
      packer_(&packer) {
  for (auto& [rank, peer] : peers) traffic_[rank].peer = std::move(peer);
}

DirectTransport::~DirectTransport() {
  try {
    packer_->synchronise();
  } catch (...) {  // nothing is under way any more
  }
}

DirectTransport::PeerTraffic& DirectTransport::with(int peer) {
  const auto found = traffic_.find(peer);
  if (found != traffic_.end()) return found->second;
  throw Error(Fault::broken, "rank " + std::to_string(board_.rank()) + " has no messages with rank " +
                                 std::to_string(peer) + " in this schedule");
}

/// Each message of a phase has its own place, from which that of the phase before must have been unpacked.
std::byte* DirectTransport::outgoing(int peer, Bytes offset) {
  PeerTraffic& to = with(peer);
  if (to.known_freed < to.sent_before_phase) {
    const PairWords& words = board_.pair(board_.rank(), peer);
    board_.wait([&] { return words.freed.load(std::memory_order_acquire) >= to.sent_before_phase; });
    if (to.peer.await_freed) to.peer.await_freed();
    to.known_freed = to.sent_before_phase;
  }
  return to.peer.theirs + offset;
}

void DirectTransport::receive(int peer, Bytes /*offset*/, Bytes /*bytes*/) {
  PeerTraffic& from = with(peer);
  if (sends_particles_) {
    from.posted = true;
  } else {
    ++from.received;
  }
}

void DirectTransport::send(int peer, Bytes /*offset*/, Bytes /*bytes*/) {
  PeerTraffic& to = with(peer);
  if (to.peer.record_sent) to.peer.record_sent();
  board_.pair(board_.rank(), peer).sent.store(++to.sent, std::memory_order_release);
}

void DirectTransport::wait() {
  for (auto& [rank, from] : traffic_) {
    if (from.seen == from.received) continue;
    const PairWords& words = board_.pair(rank, board_.rank());
    board_.wait([&] { return words.sent.load(std::memory_order_acquire) >= from.received; });
    if (from.peer.await_sent) from.peer.await_sent();
    from.seen = from.received;
  }
}

/// Particles are unpacked, and their device synchronised, before this is called: no event need be recorded.
void DirectTransport::unpacked() {
  for (auto& [rank, one] : traffic_) {
    one.sent_before_phase = one.sent;
    if (one.freed == one.received) continue;
    one.freed = one.received;
    if (one.peer.record_freed && !sends_particles_) one.peer.record_freed();
    board_.pair(rank, board_.rank()).freed.store(one.freed, std::memory_order_release);
  }
}

void DirectTransport::send_from(int peer, const std::byte* from, Bytes bytes) {
  PeerTraffic& to = with(peer);
  if (bytes > to.peer.room)
    throw Error(Fault::broken, "a message of " + std::to_string(bytes) + " bytes to rank " +
                                   std::to_string(peer) + ", which expects " + std::to_string(to.peer.room) +
                                   " at most");
  to.in_line.emplace_back(from, bytes);
  hand_over(peer, to);
}

/// Copies what is first in line while the peer's slot is free. True where nothing is left in line.
bool DirectTransport::hand_over(int rank, PeerTraffic& to) {
  PairWords& words = board_.pair(board_.rank(), rank);
  while (!to.in_line.empty() && words.freed.load(std::memory_order_acquire) == to.sent) {
    const auto [from, bytes] = to.in_line.front();
    packer_->move(to.peer.theirs, from, bytes);
    if (order_ == MessageOrder::host) packer_->synchronise();
    if (to.peer.record_sent) to.peer.record_sent();
    words.bytes.store(bytes, std::memory_order_relaxed);
    words.sent.store(++to.sent, std::memory_order_release);
    to.in_line.pop_front();
  }
  return to.in_line.empty();
}

/// Once all are handed over and copied, the memory that they were sent from may go.
bool DirectTransport::sent() {
  bool all = true;
  for (auto& [rank, to] : traffic_) all = hand_over(rank, to) && all;
  if (all && packer_->idle()) return true;
  board_.require_all();
  std::this_thread::yield();
  return false;
}

std::optional<ArrivedMessage> DirectTransport::arrived() {
  board_.require_all();
  for (auto& [rank, one] : traffic_) hand_over(rank, one);
  for (auto& [rank, from] : traffic_) {
    const PairWords& words = board_.pair(rank, board_.rank());
    if (!from.posted || words.sent.load(std::memory_order_acquire) == from.received) continue;
    if (from.peer.await_sent) from.peer.await_sent();
    ++from.received;
    from.posted = false;
    return ArrivedMessage{rank, words.bytes.load(std::memory_order_relaxed)};
  }
  return std::nullopt;
}

void DirectTransport::cancel() {
  for (auto& [rank, from] : traffic_) from.posted = false;
}

bool DirectTransport::reduced() {
  if (board_.reduced()) return true;
  std::this_thread::yield();
  return false;
}

}  // namespace linkscope::workload
