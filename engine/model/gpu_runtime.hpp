// GpuRuntime: what backends that hand GPU memory to others' libraries ask of the GPUs' runtime.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/device.hpp"

namespace linkscope {

/// How a host thread waits for a GPU, in the vendors' words. On AMD `block` and `yield` are one.
enum class SyncMode {
  spin,   ///< polls: the shortest way from completion to return
  yield,  ///< polls, and lets other threads have the CPU between looks
  block,  ///< sleeps until an interrupt
};

/// Pinned host memory through which a GPU's data pass on their way to libraries that reach host memory alone. The
/// copies are the runtime's blocking ones, whole, by the calling thread. They give 0, or a code for
/// GpuRuntime::failure().
class BounceBuffer {
 public:
  using Copy = int (*)(void* to, const void* from, Bytes bytes) noexcept;

  BounceBuffer(std::shared_ptr<std::byte> memory, Copy copy) : memory_(std::move(memory)), copy_(copy) {}
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] int load(const std::byte* from, Bytes bytes) noexcept { return copy_(data(), from, bytes); }
  [[nodiscard]] int store(std::byte* to, Bytes bytes) noexcept { return copy_(to, data(), bytes); }

 private:
  std::shared_ptr<std::byte> memory_;
  Copy copy_;
};

/// Functions of the GPUs' runtime, which any thread may call.
struct GpuRuntime {
  /// Makes the device the one that the calling thread's calls are about: libraries ask the runtime which that is. Gives 0,
  /// or a code for `failure`.
  std::function<int(const DeviceId&)> use;
  /// Room for so many bytes beside the GPU that the end names. Throws Error{no_memory}.
  std::function<std::unique_ptr<BounceBuffer>(const Endpoint&, Bytes)> bounce;
  /// Bytes through which a rotated flow on that GPU's memory must cycle so that its cache does not serve it.
  std::function<Bytes(const DeviceId&)> rotation_bytes;
  /// The vendor's words for a code.
  std::function<Error(int)> failure;
};

}  // namespace linkscope
