// MpiTransport: a rank's messages by MPI.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backend/mpi/mpi_runtime.hpp"
#include "model/gpu_runtime.hpp"
#include "model/transport.hpp"
#include "workload/message_slots.hpp"

namespace linkscope::workload {

/// Where messages are staged: in host memory beside each slot, which is copied whole each time.
struct StagedSlots {
  GpuRuntime* gpus = nullptr;  ///< null: MPI is given the memory itself
  Endpoint where{};
};

/// Isend, Irecv and Waitall; for particles Irecv once for each neighbour, Testany, and Isend of each message.
class MpiTransport final : public Transport {
 public:
  /// `runtime` outlives it.
  MpiTransport(mpi::MpiRuntime& runtime, const Schedule& schedule, int rank, std::byte* base,
               const StagedSlots& staged);
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  /// Before anything else.
  void connect(mpi::MpiHandle communicator, int tag);

  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset, Bytes bytes) override;
  [[nodiscard]] const std::byte* incoming(int peer, Bytes offset) override;
  void receive(int peer, Bytes offset, Bytes bytes) override;
  void send(int peer, Bytes offset, Bytes bytes) override;
  void wait() override;
  void send_from(int peer, const std::byte* from, Bytes bytes) override;
  [[nodiscard]] bool sent() override;
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override;
  void cancel() override;
  void collective(const SmallCollective& what, void* numbers) override;
  void begin_reduce(std::int64_t* numbers, int count) override;
  [[nodiscard]] bool reduced() override;
  [[nodiscard]] Seconds copied() const override { return copied_; }
  /// Nothing: the other ranks are other processes, which learn it otherwise.
  void give_up() noexcept override {}

 private:
  struct Slot {
    std::byte* memory = nullptr;
    Bytes bytes = 0;
    std::unique_ptr<BounceBuffer> bounce;
  };
  /// Requests in MPI's own form, which grow as they are needed.
  class Requests {
   public:
    explicit Requests(const mpi::MpiFunctions& functions) : functions_(&functions) {}
    [[nodiscard]] int add();
    [[nodiscard]] void* data() { return room_.data(); }
    [[nodiscard]] int count() const { return count_; }
    void forget() { count_ = 0; }

   private:
    const mpi::MpiFunctions* functions_;
    std::vector<std::byte> room_;
    int count_ = 0;
  };

  [[nodiscard]] std::map<int, Slot> slots_of(const std::map<int, MessageSlot>& places, std::byte* base,
                                             const StagedSlots& staged) const;
  void load(Slot& slot);
  void store(Slot& slot);
  void check(int code, const char* call) const;
  void check_copy(int code) const;

  mpi::MpiRuntime* runtime_;
  const mpi::MpiFunctions* mpi_;
  GpuRuntime* gpus_;
  std::map<int, Slot> to_;
  std::map<int, Slot> from_;
  mpi::MpiHandle communicator_ = 0;
  int tag_ = 0;
  Requests requests_;          ///< of a phase: sends and receives
  std::vector<int> received_;  ///< peers that a phase receives from
  Requests receives_;          ///< of particles, one a neighbour, in the order of from_
  std::map<int, int> receive_of_;
  std::vector<int> peer_of_;
  Requests sends_;  ///< of particles
  std::vector<std::byte> reduction_;
  Seconds copied_ = 0;
};

}  // namespace linkscope::workload
