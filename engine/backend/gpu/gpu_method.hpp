// The parts that rows of this backend's methods share.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

/// The ends that a flow of the method has.
enum class Ends { source, destination, both };

/// Says whether the flow goes from one GPU's memory to another's.
[[nodiscard]] bool between_gpus(const Flow& flow);

/// Caches hold the lines that are touched, not those between: how many times the rotation_bytes() of dense flows an
/// arena must have where each `apart` bytes of it hold `used` that are touched. At most 8: an arena would outgrow
/// memory.
[[nodiscard]] Bytes rotation_spread(Bytes used, Bytes apart);

/// Several times the largest cache of these devices: last level of GPUs and of the hosts' CPUs. What a rotated flow on
/// them must cycle through.
[[nodiscard]] Bytes rotation_bytes_of(const GpuContext& context, const std::vector<DeviceId>& devices);

/// Says whether the flow has these ends and its executor is a GPU here.
[[nodiscard]] Support has_ends(const GpuContext& context, const Flow& flow, Ends ends);
/// The same, and the executor's kernels reach every end.
[[nodiscard]] Support kernels_reach(const GpuContext& context, const Flow& flow, Ends ends);

/// Answers whether a row of this backend takes a flow, and makes its transfers.
using AskGpus = std::function<Support(GpuContext&, const Flow&)>;
using MakeTransfer =
    std::function<std::unique_ptr<Transfer>(const std::shared_ptr<GpuContext>&, const Flow&, const Arenas&)>;
/// The MakeTransfer of a class.
template <class T>
std::unique_ptr<Transfer> make(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                               const Arenas& arenas) {
  return std::make_unique<T>(context, flow, arenas);
}

/// The row of a method of this backend: available where there is a GPU, and rotated through rotation_bytes_of() the
/// executor and the ends.
[[nodiscard]] Method gpu_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                             std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);
/// The same for work on a stream: its parameters `graph` and `until` have a transfer replayed from a graph, which is
/// recorded for one slot, or the calls alone timed; `priority` and `arrival` say by which stream and when it starts
/// (graph/forms.hpp).
[[nodiscard]] Method stream_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                                std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);
/// Bytes that a rotated flow of a stream_row() cycles through.
[[nodiscard]] Bytes stream_rotation(const GpuContext& context, const Flow& flow);

}  // namespace linkscope::gpu
