// DirectTransport: a rank's messages straight into the memory of the others, stored there by its own device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

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
  std::function<void()> record_sent{};    ///< of this rank's messages to them
  std::function<void()> record_freed{};   ///< of what this rank has unpacked from them
  std::function<void()> await_sent{};     ///< of their messages
  std::function<void()> await_freed{};    ///< of what they have unpacked
  std::shared_ptr<const void> mapping{};  ///< what keeps theirs valid
};

/// Of rank `rank`, all of whose peers are in this process and receive at `bases`, by rank.
[[nodiscard]] std::map<int, DirectPeer> local_peers(const std::vector<MessageSlots>& slots, int rank,
                                                    const std::vector<std::byte*>& bases);

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
                  std::map<int, DirectPeer> peers);
  /// What is enqueued ends before the peers' memory is let go.
  ~DirectTransport() override;
  DirectTransport(const DirectTransport&) = delete;
  DirectTransport& operator=(const DirectTransport&) = delete;

  [[nodiscard]] MessageOrder order() const override { return order_; }
  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset) override;
  void receive(int peer, Bytes offset, Bytes bytes) override;
  void send(int peer, Bytes offset, Bytes bytes) override;
  void wait() override;
  void unpacked() override;
  void send_from(int peer, const std::byte* from, Bytes bytes) override;
  [[nodiscard]] bool sent() override;
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override;
  void cancel() override;
  void collective(const SmallCollective& what, void* numbers) override { board_.reduce(what, numbers); }
  void begin_reduce(std::int64_t* numbers, int count) override { board_.begin_reduce(numbers, count); }
  [[nodiscard]] bool reduced() override;
  void give_up() noexcept override { board_.give_up(); }

 private:
  /// What is known here of the messages to and from a peer; all are counted.
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

  [[nodiscard]] PeerTraffic& with(int peer);
  bool hand_over(int rank, PeerTraffic& to);

  RankBoard board_;
  bool sends_particles_;
  MessageOrder order_;
  Packer* packer_;
  std::map<int, PeerTraffic> traffic_;
};

}  // namespace linkscope::workload
