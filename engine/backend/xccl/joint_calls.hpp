// JointCalls: what one process calls of the library for a piece of work, and how it is repeated.
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
#include "backend/xccl/context.hpp"
#include "backend/xccl/form.hpp"
#include "backend/xccl/registration.hpp"
#include "model/buffer.hpp"

namespace linkscope::xccl {

/// Calls of the GPUs of this process. Derive and say what one GPU calls in one transfer.
class JointCalls : public gpu::Joint {
 public:
  JointCalls(std::shared_ptr<Context> context, const Form& form);
  ~JointCalls() override;
  JointCalls(const JointCalls&) = delete;
  JointCalls& operator=(const JointCalls&) = delete;

  [[nodiscard]] const Form& form() const { return form_; }
  /// What rows are to say.
  [[nodiscard]] virtual std::vector<std::string> notes() const;
  /// Transfer::company() of the transfers of several flows.
  [[nodiscard]] virtual std::string company() const { return {}; }
  /// Transfer::accumulates() of its transfers.
  [[nodiscard]] virtual bool accumulates() const { return false; }
  [[nodiscard]] gpu::Launch launch() const final { return form_.launch; }
  void enqueue(const std::vector<gpu::JointStream>& streams, std::uint64_t repeats) final;
  void watch() const final;
  void give_up() noexcept final;

  /// Makes `device`'s next transfer its first. Before the very first one sets up what that takes: with all other
  /// processes, as arm() is. Every transfer of the work says so when it is armed.
  void begin(int device);
  /// How many different turns `device` has taken since.
  [[nodiscard]] std::uint64_t turns(int device) const;

 protected:
  [[nodiscard]] Context& context() const { return *context_; }
  /// Whether the first transfer has been armed.
  [[nodiscard]] bool begun() const { return communicator_ != nullptr; }

  /// The communicator, set up with the other processes when first asked for.
  [[nodiscard]] virtual std::shared_ptr<Communicator> connect() = 0;
  /// GPUs of this process that have calls to make.
  [[nodiscard]] virtual std::vector<int> devices() const = 0;
  /// What the calls of one of them read and write.
  [[nodiscard]] virtual std::vector<const Buffer*> buffers(int device) const = 0;
  /// Makes the calls of one GPU for its transfer number `turn`; as a group of their own where they are several.
  virtual void call(Communicator& communicator, const gpu::JointStream& stream, std::uint64_t turn) = 0;

 private:
  /// What is known of one GPU; touched by the thread alone that calls for it.
  struct Share {
    std::uint64_t done = 0;  ///< transfers since begin()
    gpu::RecordedGraph graph;
  };

  void set_up();
  void register_buffers();
  void call_once(const std::vector<gpu::JointStream>& streams);
  void rehearse(const std::vector<gpu::JointStream>& streams, int calls);
  void record(const std::vector<gpu::JointStream>& streams);

  std::shared_ptr<Context> context_;
  Form form_;
  int unwinding_;                               ///< exceptions under way when this was made
  std::shared_ptr<Communicator> communicator_;  ///< before what needs it: that goes first
  std::list<Registration> registrations_;
  std::map<int, Share> shares_;
};

/// One part of such work: a GPU's buffers, armed and checked; what is enqueued is its joint's.
class JointTransfer : public gpu::GpuTransfer {
 public:
  /// `slots` of its buffers that turns are taken on.
  JointTransfer(std::shared_ptr<JointCalls> calls, int device, std::uint64_t slots);

  [[nodiscard]] int device() const final { return device_; }
  [[nodiscard]] gpu::Joint* joint() final { return calls_.get(); }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) final;
  void arm(std::uint64_t seed) final;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const final;
  [[nodiscard]] bool accumulates() const final { return calls_->accumulates(); }
  [[nodiscard]] Bytes verified_bytes() const final;
  [[nodiscard]] std::uint64_t operations() const final;
  [[nodiscard]] std::string company() const final { return calls_->company(); }
  [[nodiscard]] std::uint64_t max_repeats() const final;
  [[nodiscard]] std::uint64_t max_calls_in_batch() const final;
  [[nodiscard]] std::vector<std::string> notes() const final;

 protected:
  virtual void arm_buffers(std::uint64_t seed) = 0;
  [[nodiscard]] virtual std::optional<Mismatch> verify_buffers(std::uint64_t seed,
                                                               std::uint64_t slots_touched) const = 0;
  [[nodiscard]] virtual Bytes verified_bytes(std::uint64_t slots_touched) const = 0;

 private:
  [[nodiscard]] std::uint64_t slots_touched() const;

  std::shared_ptr<JointCalls> calls_;
  int device_;
  std::uint64_t slots_;
};

/// The same with `Check` (CopyCheck, CollectiveCheck) for its buffers.
template <class Check>
class CheckedJointTransfer final : public JointTransfer {
 public:
  CheckedJointTransfer(std::shared_ptr<JointCalls> calls, int device, std::uint64_t slots, Check check)
      : JointTransfer(std::move(calls), device, slots), check_(std::move(check)) {}

  void flush() override { check_.flush(); }

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
