// DirectTransport: a rank's messages straight into the memory of others, by its GPU's kernels and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "backend/gpu/packing/gpu_packer.hpp"
#include "backend/gpu/streams.hpp"
#include "model/transport.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {

/// A rank that messages go to or come from. Events are null where ranks keep order by their hosts.
struct DirectPeer {
  std::byte* theirs =
      nullptr;     ///< where they receive from this rank, by its GPU's addresses; null: nothing goes there
  Bytes room = 0;  ///< of theirs
  const std::byte* own = nullptr;  ///< where this rank receives from them; null: nothing comes from there
  std::shared_ptr<const gpu::StreamEvent> sent;        ///< this rank's, of its messages to them
  std::shared_ptr<const gpu::StreamEvent> freed;       ///< this rank's, of what it has unpacked from them
  std::shared_ptr<const gpu::StreamEvent> their_sent;  ///< of their messages
  std::shared_ptr<const gpu::StreamEvent> their_freed;
  std::shared_ptr<const void> mapping;  ///< what keeps theirs valid
};

enum class MessageKind { scheduled, particles };

/// The sender's kernels pack straight into the receiver's memory; then the sender records an event and says so on the
/// board, and the receiver has its stream wait for that event. When the receiver has unpacked it does the same, and the
/// sender's stream waits before it packs there again. So a wait is enqueued only once what it is for has been: GPUs
/// never spin, ranks may share one, and no wait of a stream is for what may never come. Without events the hosts
/// synchronise their streams instead before they say so.
///
/// Particles: a message is copied to the receiver's mailbox once that is free, and waits in line until then.
class DirectTransport final : public Transport {
 public:
  /// `packer` outlives it.
  DirectTransport(RankBoard board, MessageKind kind, MessageOrder order, gpu::GpuPacker& packer,
                  std::map<int, DirectPeer> peers);
  /// What is enqueued ends before the peers' memory is let go.
  ~DirectTransport() override;
  DirectTransport(const DirectTransport&) = delete;
  DirectTransport& operator=(const DirectTransport&) = delete;

  [[nodiscard]] MessageOrder order() const override { return order_; }
  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset, Bytes bytes) override;
  [[nodiscard]] const std::byte* incoming(int peer, Bytes offset) override;
  void receive(int peer, Bytes offset, Bytes bytes) override;
  void send(int peer, Bytes offset, Bytes bytes) override;
  void wait() override;
  void unpacked() override;
  void send_from(int peer, const std::byte* from, Bytes bytes) override;
  [[nodiscard]] bool sent() override;
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override;
  void cancel() override {}
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
    std::uint64_t known_freed = 0;  ///< of those, the stream has waited for
    std::uint64_t received = 0;
    std::uint64_t seen = 0;  ///< of those, the stream has waited for
    std::uint64_t freed = 0;
    std::deque<std::pair<const std::byte*, Bytes>> in_line;
  };

  [[nodiscard]] PeerTraffic& with(int peer);
  bool hand_over(int rank, PeerTraffic& to);
  [[nodiscard]] gpuStream_t stream() const { return packer_->stream(); }

  RankBoard board_;
  MessageKind kind_;
  MessageOrder order_;
  gpu::GpuPacker* packer_;
  std::map<int, PeerTraffic> traffic_;
};

}  // namespace linkscope::workload
