// DirectTransport: a rank's messages straight into the memory of the others, stored there by its own device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/packer.hpp"
#include "model/transport.hpp"
#include "workload/message_slots.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {

/// A rank that messages go to or come from. The functions record and await events of the two ranks' devices; they are
/// empty where ranks keep order by their hosts.
struct DirectPeer {
  std::byte* theirs =
      nullptr;     ///< where they receive from this rank, as its device reaches it; null: nothing goes there
  Bytes room = 0;  ///< of theirs
  std::function<void()> record_sent = nullptr;    ///< of this rank's messages to them
  std::function<void()> record_freed = nullptr;   ///< of what this rank has unpacked from them
  std::function<void()> await_sent = nullptr;     ///< of their messages
  std::function<void()> await_freed = nullptr;    ///< of what they have unpacked
  std::shared_ptr<const void> mapping = nullptr;  ///< what keeps theirs valid
};

/// Returns the peers of `rank` where all are in this process, and receive at `bases` (by rank).
[[nodiscard]] inline std::map<int, DirectPeer> local_peers(const std::vector<MessageSlots>& slots, int rank,
                                                           const std::vector<std::byte*>& bases) {
  std::map<int, DirectPeer> peers;
  for (const auto& [peer, slot] : slots[static_cast<std::size_t>(rank)].from) peers[peer] = {};
  for (std::size_t peer = 0; peer < slots.size(); ++peer) {
    if (const MessageSlot* const to = slots[peer].from_peer(rank))
      peers[static_cast<int>(peer)] = {bases[peer] + to->offset, to->bytes};
  }
  return peers;
}

/// The sender's device packs straight into the receiver's memory; then the sender records an event and says so on the
/// board, and the receiver has its device wait for that event. When the receiver has unpacked it does the same, and the
/// sender's device waits before it packs there again. So a wait is enqueued only once what it is for has been: GPUs
/// never spin, ranks may share one, and no wait of a stream is for what may never come. Without events each rank's host
/// has its device synchronised before it says so.
///
/// A message of particles is copied to the receiver's slot once that is free, and waits in line until then.
class DirectTransport : public Transport {
 public:
  /// `packer` outlives it.
  DirectTransport(RankBoard board, const Schedule& schedule, MessageOrder order, Packer& packer,
                  std::map<int, DirectPeer> peers)
      : board_(std::move(board)),
        sends_particles_(schedule.particles.has_value()),
        order_(order),
        packer_(&packer) {
    for (auto& [rank, peer] : peers) traffic_[rank].peer = std::move(peer);
  }

  /// Waits until all that is enqueued has ended, and only then lets the peers' memory go.
  ~DirectTransport() override {
    try {
      packer_->synchronise();
    } catch (...) {  // NOLINT(bugprone-empty-catch): nothing is under way any more
    }
  }
  DirectTransport(const DirectTransport&) = delete;
  DirectTransport& operator=(const DirectTransport&) = delete;

  [[nodiscard]] MessageOrder order() const override { return order_; }
  /// Each message of a phase has its own place, from which that of the phase before must have been unpacked.
  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset) override {
    PeerTraffic& to = with(peer);
    if (to.known_freed < to.sent_before_phase) {
      const PairWords& words = board_.pair(board_.rank(), peer);
      board_.wait([&] { return words.freed.load(std::memory_order_acquire) >= to.sent_before_phase; });
      if (to.peer.await_freed) to.peer.await_freed();
      to.known_freed = to.sent_before_phase;
    }
    return to.peer.theirs + offset;
  }

  void receive(int peer, Bytes /*offset*/, Bytes /*bytes*/) override {
    PeerTraffic& from = with(peer);
    if (sends_particles_) {
      from.posted = true;
    } else {
      ++from.received;
    }
  }

  void send(int peer, Bytes /*offset*/, Bytes /*bytes*/) override {
    PeerTraffic& to = with(peer);
    if (to.peer.record_sent) to.peer.record_sent();
    board_.pair(board_.rank(), peer).sent.store(++to.sent, std::memory_order_release);
  }

  void wait() override {
    for (auto& [rank, from] : traffic_) {
      if (from.seen == from.received) continue;
      const PairWords& words = board_.pair(rank, board_.rank());
      board_.wait([&] { return words.sent.load(std::memory_order_acquire) >= from.received; });
      if (from.peer.await_sent) from.peer.await_sent();
      from.seen = from.received;
    }
  }

  /// Particles are unpacked, and their device synchronised, before this is called: no event need be recorded.
  void unpacked() override {
    for (auto& [rank, one] : traffic_) {
      one.sent_before_phase = one.sent;
      if (one.freed == one.received) continue;
      one.freed = one.received;
      if (one.peer.record_freed && !sends_particles_) one.peer.record_freed();
      board_.pair(rank, board_.rank()).freed.store(one.freed, std::memory_order_release);
    }
  }

  void send_from(int peer, const std::byte* from, Bytes bytes) override {
    PeerTraffic& to = with(peer);
    if (bytes > to.peer.room)
      throw Error(Fault::broken, "a message of " + std::to_string(bytes) + " bytes to rank " +
                                     std::to_string(peer) + ", which expects " +
                                     std::to_string(to.peer.room) + " at most");
    to.in_line.emplace_back(from, bytes);
    hand_over(peer, to);
  }

  /// Once all are handed over and copied, the memory that they were sent from may go.
  [[nodiscard]] bool sent() override {
    bool all = true;
    for (auto& [rank, to] : traffic_) all = hand_over(rank, to) && all;
    if (all && packer_->idle()) return true;
    board_.require_all();
    std::this_thread::yield();
    return false;
  }

  [[nodiscard]] std::optional<ArrivedMessage> arrived() override {
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

  void cancel() override {
    for (auto& [rank, from] : traffic_) from.posted = false;
  }

  void collective(const SmallCollective& what, void* numbers) override { board_.reduce(what, numbers); }
  void begin_reduce(std::int64_t* numbers, int count) override { board_.begin_reduce(numbers, count); }
  [[nodiscard]] bool reduced() override {
    if (board_.reduced()) return true;
    std::this_thread::yield();
    return false;
  }

  void give_up() noexcept override { board_.give_up(); }

 private:
  /// Counts the messages to and from a peer, as far as this rank knows.
  struct PeerTraffic {
    DirectPeer peer;
    std::uint64_t sent = 0;
    std::uint64_t sent_before_phase = 0;
    std::uint64_t known_freed = 0;  ///< of those sent, this rank's device has waited for
    std::uint64_t received = 0;
    std::uint64_t seen = 0;  ///< of those received, this rank's device has waited for
    std::uint64_t freed = 0;
    bool posted = false;  ///< particles: a receive
    std::deque<std::pair<const std::byte*, Bytes>> in_line;
  };

  [[nodiscard]] PeerTraffic& with(int peer) {
    const auto found = traffic_.find(peer);
    if (found != traffic_.end()) return found->second;
    throw Error(Fault::broken, "rank " + std::to_string(board_.rank()) + " has no messages with rank " +
                                   std::to_string(peer) + " in this schedule");
  }

  /// Copies what is first in line while the peer's slot is free. True where nothing is left in line.
  bool hand_over(int rank, PeerTraffic& to) {
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

  RankBoard board_;
  bool sends_particles_;
  MessageOrder order_;
  Packer* packer_;
  std::map<int, PeerTraffic> traffic_;
};

}  // namespace linkscope::workload
