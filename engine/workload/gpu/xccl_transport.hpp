// XcclTransport: a rank's messages by NCCL or RCCL, on the stream that packs them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "backend/xccl/communicator.hpp"
#include "base/units.hpp"
#include "model/transport.hpp"
#include "workload/message_slots.hpp"

namespace linkscope::workload {

/// What the ranks of one process share: the communicator, whose member `rank` is the schedule's rank, and whether one of
/// them has failed.
struct XcclRanks {
  std::shared_ptr<xccl::Communicator> communicator;
  std::atomic<bool> given_up{false};
};

/// The messages of a phase are one group of ncclSend and ncclRecv. Collectives of host numbers go through words of the
/// GPU: to it, ncclAllReduce, and back.
///
/// Particles: NCCL has no probe, so who receives must know how much. In each phase first the lengths go, 8 bytes for
/// each message that the schedule has; when they have come, the messages go in one group.
class XcclTransport final : public Transport {
 public:
  /// `packer` and the schedule outlive it. `base`: of the rank's messages, laid out by MessageSlots.
  XcclTransport(const std::shared_ptr<gpu::GpuContext>& context, std::shared_ptr<XcclRanks> ranks,
                const Schedule& schedule, int rank, std::byte* base, gpu::GpuPacker& packer);

  [[nodiscard]] MessageOrder order() const override { return MessageOrder::device; }
  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset, Bytes bytes) override;
  [[nodiscard]] const std::byte* incoming(int peer, Bytes offset) override;
  void receive(int peer, Bytes offset, Bytes bytes) override;
  void send(int peer, Bytes offset, Bytes bytes) override;
  void wait() override;
  void begin_phase(std::size_t loop, std::size_t phase) override;
  void send_from(int peer, const std::byte* from, Bytes bytes) override;
  [[nodiscard]] bool sent() override;
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override;
  void cancel() override {}
  void collective(const SmallCollective& what, void* numbers) override;
  void begin_reduce(std::int64_t* numbers, int count) override;
  [[nodiscard]] bool reduced() override;
  void give_up() noexcept override;

 private:
  /// A message on its way.
  struct Sent {
    int peer = 0;
    const std::byte* from = nullptr;
    Bytes bytes = 0;
  };
  struct Received {
    int peer = 0;
    std::byte* to = nullptr;
    Bytes bytes = 0;
  };
  using PinnedBytes = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

  [[nodiscard]] gpuStream_t stream() const { return packer_->stream(); }
  [[nodiscard]] const xccl::XcclLibrary& library() const { return ranks_->communicator->library(); }
  [[nodiscard]] xccl::Comm* comm() const { return ranks_->communicator->handle(packer_->device()); }
  /// One group; what it held is forgotten.
  void exchange(std::vector<Sent>& sends, std::vector<Received>& receives);
  void exchange_lengths();
  /// Whether the phase's particles have still to go, and this rank has said what it sends.
  [[nodiscard]] bool is_due() const;
  void reduce_staged(const SmallCollective& what, const void* numbers, Bytes bytes);
  [[nodiscard]] bool idle();
  /// Now and then while a stream is waited for.
  void look();
  void require_all() const;

  std::shared_ptr<XcclRanks> ranks_;
  const Schedule* schedule_;
  int rank_;
  std::byte* base_;
  gpu::GpuPacker* packer_;
  MessageSlots slots_;
  gpu::DeviceWords staging_;
  PinnedBytes staged_;
  std::vector<Sent> sends_;
  std::vector<Received> receives_;
  RankMessages phase_;  ///< of particles, the one that is under way
  bool exchanged_ = true;
  std::vector<ArrivedMessage> arrived_;  ///< the last one first
  std::int64_t* reducing_ = nullptr;
  Bytes reducing_bytes_ = 0;
  Seconds waiting_since_ = 0;
  Seconds last_look_ = 0;
  unsigned looks_ = 0;
};

}  // namespace linkscope::workload
