// What a flow must have to be carried by a GPU.
#include "backend/gpu/gpu_method.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/call/returning_call.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/graph/graph_transfer.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {
namespace {

/// How often an arena is as large as a cache. A GPU's does not evict the oldest line first: with twice its size, a
/// seventh of a rotated arena was still found (H200). Where victims are drawn at random, a share h survives with
/// h = exp(-turns * (1 - h)): a fifth at 2 turns, 0.03 % at 8.
constexpr Bytes turns_of_gpu_cache = 8;
constexpr Bytes turns_of_cpu_cache = 2;
constexpr Bytes line_bytes = 128;
constexpr Bytes most_spread = 8;

}  // namespace

bool between_gpus(const Flow& flow) {
  const auto on_gpu = [](const std::optional<Endpoint>& end) {
    return end && end->device.kind == DeviceKind::gpu;
  };
  return on_gpu(flow.source) && on_gpu(flow.destination) && flow.source->device != flow.destination->device;
}

Bytes rotation_spread(Bytes used, Bytes apart) {
  const Bytes lines = std::min((used + line_bytes - 1) / line_bytes * line_bytes, apart);
  return std::clamp<Bytes>(apart / lines, 1, most_spread);
}

Bytes rotation_bytes_of(const GpuContext& context, const std::vector<DeviceId>& devices) {
  Bytes largest = 0;
  for (const DeviceId& device : devices) {
    const bool is_gpu = device.kind == DeviceKind::gpu && device.index < context.device_count();
    largest = std::max(largest, is_gpu ? turns_of_gpu_cache * context.device(device.index).l2_bytes
                                       : turns_of_cpu_cache * context.host().largest_cache({device}));
  }
  return largest;
}

Support GpuMethod::available() const {
  return context_->device_count() > 0 ? Support::yes() : Support::no(context_->problem());
}

std::map<std::string, std::string> GpuMethod::parameters() const {
  auto all = own_parameters();
  if (!graphable()) return all;
  all.merge(graph_parameters());
  all.merge(until_parameters());
  return all;
}

std::unique_ptr<Transfer> GpuMethod::prepare(const Flow& flow, const Arenas& arenas) const {
  std::unique_ptr<Transfer> made = make(flow, arenas);
  const std::uint64_t recorded = graph_operations(flow.parameters);
  if (recorded > 0) made = replay_by_graph(shared_context(), std::move(made), recorded);
  if (wanted_until(flow.parameters) == Until::end) return made;
  return time_until_return(shared_context(), std::move(made));
}

Bytes GpuMethod::rotation_bytes(const Flow& flow) const {
  if (graph_operations(flow.parameters) > 0) return 0;
  std::vector<DeviceId> devices{flow.executor};
  if (flow.source) devices.push_back(flow.source->device);
  if (flow.destination) devices.push_back(flow.destination->device);
  return rotation_bytes_of(*context_, devices);
}

Support GpuMethod::has_ends(const Flow& flow, Ends ends) const {
  const std::string method(name());
  if (flow.source.has_value() != (ends != Ends::destination)) {
    return Support::no(method + (flow.source ? " has no source" : " needs a source"));
  }
  if (flow.destination.has_value() != (ends != Ends::source)) {
    return Support::no(method + (flow.destination ? " has no destination" : " needs a destination"));
  }
  return context_->has(flow.executor);
}

Support GpuMethod::kernels_reach(const Flow& flow, Ends ends) const {
  if (const Support complete = has_ends(flow, ends); !complete) return complete;
  for (const auto& end : {flow.source, flow.destination}) {
    if (!end) continue;
    if (const Support reached = context_->reachable(flow.executor.index, *end); !reached) return reached;
  }
  return Support::yes();
}

}  // namespace linkscope::gpu
