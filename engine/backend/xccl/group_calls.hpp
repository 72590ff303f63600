// GroupCalls: what one process calls of the library for a piece of work, and how it is repeated.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/graph/recorded_graph.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/xccl/call_options.hpp"
#include "backend/xccl/context.hpp"
#include "backend/xccl/registration.hpp"
#include "model/buffer.hpp"

namespace linkscope::xccl {

/// Calls of the GPUs of this process. Derive and say what one GPU calls in one transfer.
class GroupCalls : public gpu::MultiGpuWork {
 public:
  GroupCalls(std::shared_ptr<XcclContext> context, const CallOptions& form);
  ~GroupCalls() override;
  GroupCalls(const GroupCalls&) = delete;
  GroupCalls& operator=(const GroupCalls&) = delete;

  [[nodiscard]] const CallOptions& form() const { return form_; }
  /// What rows are to say.
  [[nodiscard]] virtual std::vector<std::string> notes() const;
  /// What each of its transfers states.
  [[nodiscard]] virtual TransferFacts facts() const;
  [[nodiscard]] gpu::LaunchThreads launch() const final { return form_.launch; }
  void enqueue(const std::vector<gpu::DeviceStream>& streams, std::uint64_t repeats) final;
  void watch() const final;
  void give_up() noexcept final;

  /// Says that the case has ended well. Without it the communicator is given up at the end.
  void finish() { finished_ = true; }
  /// Makes `device`'s next transfer its first. Before the very first one sets up what that takes: with all other
  /// processes, as arm() is. Every transfer of the work says so when it is armed.
  void begin(int device);
  /// How many different turns `device` has taken since.
  [[nodiscard]] std::uint64_t turns(int device) const;

 protected:
  [[nodiscard]] XcclContext& context() const { return *context_; }
  /// Whether the first transfer has been armed.
  [[nodiscard]] bool begun() const { return communicator_ != nullptr; }

  /// The communicator, set up with the other processes when first asked for.
  [[nodiscard]] virtual std::shared_ptr<Communicator> connect() = 0;
  /// GPUs of this process that have calls to make.
  [[nodiscard]] virtual std::vector<int> devices() const = 0;
  /// What the calls of one of them read and write.
  [[nodiscard]] virtual std::vector<const Buffer*> buffers(int device) const = 0;
  /// Makes the calls of one GPU for its transfer number `turn`; as a group of their own where they are several.
  virtual void call(Communicator& communicator, const gpu::DeviceStream& stream, std::uint64_t turn) = 0;

 private:
  /// What is known of one GPU; touched by the thread alone that calls for it.
  struct DeviceProgress {
    std::uint64_t done = 0;  ///< transfers since begin()
    gpu::ExecutableGraph graph;
  };

  void set_up();
  void register_buffers();
  void call_once(const std::vector<gpu::DeviceStream>& streams);
  void rehearse(const std::vector<gpu::DeviceStream>& streams, int calls);
  void record(const std::vector<gpu::DeviceStream>& streams);

  std::shared_ptr<XcclContext> context_;
  CallOptions form_;
  bool finished_ = false;
  std::shared_ptr<Communicator> communicator_;  ///< before what needs it: that goes first
  std::list<Registration> registrations_;
  std::map<int, DeviceProgress> shares_;
};

/// One part of such work: a GPU's buffers, armed and checked; what is enqueued is its joint's.
class GroupTransfer : public gpu::GpuTransfer {
 public:
  /// `slots` of its buffers that turns are taken on.
  GroupTransfer(std::shared_ptr<GroupCalls> calls, int device, std::uint64_t slots);

  [[nodiscard]] int device() const final { return device_; }
  [[nodiscard]] gpu::MultiGpuWork* shared_work() final { return calls_.get(); }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) final;
  void arm(std::uint64_t seed) final;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const final;
  [[nodiscard]] Bytes verified_bytes() const final;
  [[nodiscard]] std::vector<std::string> notes() const final;

 protected:
  virtual void arm_buffers(std::uint64_t seed) = 0;
  [[nodiscard]] virtual std::optional<Mismatch> verify_buffers(std::uint64_t seed,
                                                               std::uint64_t slots_touched) const = 0;
  [[nodiscard]] virtual Bytes verified_bytes(std::uint64_t slots_touched) const = 0;

  [[nodiscard]] std::uint64_t slots_touched() const;

 private:
  std::shared_ptr<GroupCalls> calls_;
  int device_;
  std::uint64_t slots_;
};

/// The same with `Check` (CopyCheck, CollectiveCheck) for its buffers.
template <class Check>
class CheckedGroupTransfer final : public GroupTransfer {
 public:
  CheckedGroupTransfer(std::shared_ptr<GroupCalls> calls, int device, std::uint64_t slots, Check check)
      : GroupTransfer(std::move(calls), device, slots), check_(std::move(check)) {}

  void flush() override { check_.flush(); }
  void restore() override {
    if constexpr (requires { check_.restore(0); }) check_.restore(slots_touched());
  }

 private:
  void arm_buffers(std::uint64_t seed) override { check_.arm(seed); }
  [[nodiscard]] std::optional<Mismatch> verify_buffers(std::uint64_t seed,
                                                       std::uint64_t slots_touched) const override {
    return check_.verify(seed, slots_touched);
  }
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const override {
    return check_.verified_bytes(slots_touched);
  }

  Check check_;
};

}  // namespace linkscope::xccl
