// pointer-chase: dependent loads by one thread of a GPU.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// A ring of pointers, one every `stride` bytes over flow.bytes of the source, in address order or scattered by a
/// bijection. One thread at a time walks `hops` of them, on from where the last walk ended. A transfer is one walk on
/// each of an eighth of the multiprocessors; successive transfers go round so that all serve equally often: their
/// distances from a memory differ by some per cent, and the mean over all of them is what nvbandwidth gives.
///
/// A launch empties first-level caches, so a walk of a ring that may fit one begins with a lap around all of it. What
/// the laps took is known from the multiprocessor's cycle counter and taken out of the span: a small ring's figure is
/// that of the caches it fits, not a mixture with first loads.
///
/// A walk is a launch, and the gap between two launches in a stream, about 1 us, is inside the figure: below 0.2 % of
/// 1024 hops over a link. In local memory hops default to more. Loads are ordinary ones, cached wherever the device
/// caches such memory. A CPU of its node lays the ring in host memory, the executor in any other.
class GpuPointerChase final : public GpuMethod {
 public:
  explicit GpuPointerChase(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context), {"pointer-chase", "dependent loads by one GPU thread",
                                       Quantity::latency, pointer_chase_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// Rotating makes no sense: the ring is the cache state.
  [[nodiscard]] Bytes rotation_bytes(const Flow& /*flow*/) const override { return 0; }

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
