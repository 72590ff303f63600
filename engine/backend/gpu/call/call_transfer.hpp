// CallTransfer: one call of the GPU's runtime, made again and again by a CPU; what calls' methods time. The kernels
// that such calls launch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/vendor.hpp"
#include "backend/host/host_transfer.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

/// The NUMA node whose CPUs call upon `device`.
[[nodiscard]] int calling_node(const GpuContext& context, int device);

/// The row of a method that times calls. A flow's executor is the GPU that is called; a CPU calls. No memory is leased
/// for it.
[[nodiscard]] Method call_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                              std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);
/// Says whether the flow has no ends and its executor is a GPU here.
[[nodiscard]] Support is_call(const GpuContext& context, const Flow& flow);
/// Says whether the flow names memory, as its destination, and nothing else.
[[nodiscard]] Support names_memory(const Flow& flow);

/// One thread beside the GPU makes the calls. The transfer's own stream is drained before every start, and no start
/// makes more calls than a stream takes without blocking: a call is timed, not what it sets going.
class CallTransfer : public host::HostTransfer {
 public:
  CallTransfer(std::shared_ptr<GpuContext> context, int device);

  void arm(std::uint64_t seed) override;
  /// Throws what a call failed with.
  void restore() override;
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept final;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const final;
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  /// Makes the call `repeats` times and nothing else; ends at the first failure. The device is current.
  [[nodiscard]] virtual gpuError_t call(std::uint64_t repeats) noexcept = 0;
  /// Says whether the calls since arm(seed) did what they should; all of them have come to their end on the device.
  [[nodiscard]] virtual std::optional<Mismatch> find_wrong(std::uint64_t seed) const = 0;

  [[nodiscard]] GpuContext& context() const { return *context_; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] gpuStream_t stream() const { return stream_.get(); }

 private:
  void drain() const;

  std::shared_ptr<GpuContext> context_;
  int device_;
  OwnStream stream_;
  gpuError_t failure_ = gpuSuccess;  ///< the first since arm()
};

/// Bytes of arguments that a counting kernel exists for, ascending.
[[nodiscard]] std::vector<Bytes> argument_sizes();
/// A kernel that takes one argument of so many bytes, for a launch of one thread; null where there is none. It adds one
/// to the 64-bit word whose address stands in the argument's first 8 bytes; where the argument is shorter, to a word of
/// the device that all such kernels share.
[[nodiscard]] const void* counting_kernel(Bytes argument_bytes);
/// Enqueues a copy of that shared word to `to`, in the device's memory.
void copy_shared_count(gpuStream_t stream, std::uint64_t* to);
/// Enqueues stores of byte `value` all over a block.
void touch_block(gpuStream_t stream, int multiprocessors, std::byte* block, Bytes bytes, int value);
/// Launches a kernel that keeps one thread busy for about `duration`.
[[nodiscard]] gpuError_t launch_work(gpuStream_t stream, Seconds duration) noexcept;
/// What copy_shared_count(), touch_block() and launch_work() launch, to be loaded before.
[[nodiscard]] std::vector<const void*> call_kernels();

}  // namespace linkscope::gpu
