// GpuRuntime: what backends that hand GPU memory to others' libraries ask of the GPUs' runtime.
#pragma once

#include <cstddef>
#include <memory>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/device.hpp"

namespace linkscope {

/// Pinned host memory through which a GPU's data pass on their way to libraries that reach host memory alone. The
/// copies are the runtime's blocking ones, whole, by the calling thread. They give 0, or a code for
/// GpuRuntime::failure().
class BounceBuffer {
 public:
  virtual ~BounceBuffer() = default;
  [[nodiscard]] virtual std::byte* data() const = 0;
  [[nodiscard]] virtual int load(const std::byte* from, Bytes bytes) noexcept = 0;
  [[nodiscard]] virtual int store(std::byte* to, Bytes bytes) noexcept = 0;
};

/// May be called by any thread.
class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;
  /// Makes `device` the one that the calling thread's calls are about: libraries ask the runtime which that is.
  /// 0, or a code for failure().
  [[nodiscard]] virtual int use(const DeviceId& device) noexcept = 0;
  /// Room for `bytes` beside the GPU that `where` names. Throws Error{no_memory}.
  [[nodiscard]] virtual std::unique_ptr<BounceBuffer> bounce(const Endpoint& where, Bytes bytes) = 0;
  /// Bytes through which a rotated flow on that GPU's memory must cycle so that its cache does not serve it.
  [[nodiscard]] virtual Bytes rotation_bytes(const DeviceId& device) const = 0;
  /// The vendor's words for a code.
  [[nodiscard]] virtual Error failure(int code) const = 0;
};

}  // namespace linkscope
