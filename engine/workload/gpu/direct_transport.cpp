#include "workload/gpu/direct_transport.hpp"

#include <utility>

#include <string>
#include <thread>

#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::workload {

DirectTransport::DirectTransport(RankBoard board, MessageKind kind, MessageOrder order,
                                 gpu::GpuPacker& packer, std::map<int, DirectPeer> peers)
    : board_(std::move(board)), kind_(kind), order_(order), packer_(&packer) {
  for (auto& [rank, peer] : peers) traffic_[rank].peer = std::move(peer);
}

DirectTransport::~DirectTransport() {
  static_cast<void>(gpuStreamSynchronize(stream()));
  static_cast<void>(gpuGetLastError());
}

DirectTransport::PeerTraffic& DirectTransport::with(int peer) {
  const auto found = traffic_.find(peer);
  if (found != traffic_.end()) return found->second;
  throw Error(Fault::broken, "rank " + std::to_string(board_.rank()) + " has no messages with rank " +
                                 std::to_string(peer) + " in this schedule");
}

/// Of this phase's messages each has its own place; that of the phase before must have been unpacked.
std::byte* DirectTransport::outgoing(int peer, Bytes offset, Bytes /*bytes*/) {
  PeerTraffic& to = with(peer);
  if (to.known_freed < to.sent_before_phase) {
    const PairWords& words = board_.pair(board_.rank(), peer);
    board_.wait([&] { return words.freed.load(std::memory_order_acquire) >= to.sent_before_phase; });
    if (to.peer.their_freed != nullptr) to.peer.their_freed->hold_back(stream());
    to.known_freed = to.sent_before_phase;
  }
  return to.peer.theirs + offset;
}

const std::byte* DirectTransport::incoming(int peer, Bytes offset) { return with(peer).peer.own + offset; }

void DirectTransport::receive(int peer, Bytes /*offset*/, Bytes /*bytes*/) {
  if (kind_ == MessageKind::scheduled) ++with(peer).received;
}

void DirectTransport::send(int peer, Bytes /*offset*/, Bytes /*bytes*/) {
  PeerTraffic& to = with(peer);
  if (to.peer.sent != nullptr) to.peer.sent->record(stream());
  board_.pair(board_.rank(), peer).sent.store(++to.sent, std::memory_order_release);
}

void DirectTransport::wait() {
  for (auto& [rank, from] : traffic_) {
    if (from.seen == from.received) continue;
    const PairWords& words = board_.pair(rank, board_.rank());
    board_.wait([&] { return words.sent.load(std::memory_order_acquire) >= from.received; });
    if (from.peer.their_sent != nullptr) from.peer.their_sent->hold_back(stream());
    from.seen = from.received;
  }
}

void DirectTransport::unpacked() {
  for (auto& [rank, one] : traffic_) {
    one.sent_before_phase = one.sent;
    if (one.freed == one.received) continue;
    one.freed = one.received;
    if (one.peer.freed != nullptr && kind_ == MessageKind::scheduled) one.peer.freed->record(stream());
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

/// Copies what is first in line where the mailbox is free. True where nothing is left in line. Particles are unpacked
/// before their place is said to be free, so nothing has to be waited for on the GPU.
bool DirectTransport::hand_over(int rank, PeerTraffic& to) {
  PairWords& words = board_.pair(board_.rank(), rank);
  while (!to.in_line.empty() && words.freed.load(std::memory_order_acquire) == to.sent) {
    const auto [from, bytes] = to.in_line.front();
    LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
    LINKSCOPE_CHECK(gpuMemcpyAsync(to.peer.theirs, from, bytes, gpuMemcpyDefault, stream()));
    if (to.peer.sent != nullptr) {
      to.peer.sent->record(stream());
    } else {
      packer_->synchronise();
    }
    words.bytes.store(bytes, std::memory_order_relaxed);
    words.sent.store(++to.sent, std::memory_order_release);
    to.in_line.pop_front();
  }
  return to.in_line.empty();
}

/// Handed over, and copied: the memory that they were sent from may go.
bool DirectTransport::sent() {
  bool all = true;
  for (auto& [rank, to] : traffic_) all = hand_over(rank, to) && all;
  if (all) {
    const gpuError_t state = gpuStreamQuery(stream());
    if (state != gpuSuccess && state != gpuErrorNotReady) LINKSCOPE_CHECK(state);
    static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
    all = state == gpuSuccess;
  }
  if (!all) {
    board_.require_all();
    std::this_thread::yield();
  }
  return all;
}

std::optional<ArrivedMessage> DirectTransport::arrived() {
  board_.require_all();
  for (auto& [rank, one] : traffic_) hand_over(rank, one);
  for (auto& [rank, from] : traffic_) {
    const PairWords& words = board_.pair(rank, board_.rank());
    if (from.peer.own == nullptr || words.sent.load(std::memory_order_acquire) == from.received) continue;
    if (from.peer.their_sent != nullptr) from.peer.their_sent->hold_back(stream());
    ++from.received;
    return ArrivedMessage{rank, words.bytes.load(std::memory_order_relaxed)};
  }
  return std::nullopt;
}

bool DirectTransport::reduced() {
  if (board_.reduced()) return true;
  std::this_thread::yield();
  return false;
}

}  // namespace linkscope::workload
