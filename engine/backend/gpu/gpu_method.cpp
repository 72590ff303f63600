// Ends, reach and rotation of flows that GPUs carry, and the rows of their methods.
#include "backend/gpu/gpu_method.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/transfer.hpp"
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

Bytes flow_rotation(const GpuContext& context, const Flow& flow) {
  std::vector<DeviceId> devices{flow.executor};
  if (flow.source) devices.push_back(flow.source->device);
  if (flow.destination) devices.push_back(flow.destination->device);
  return rotation_bytes_of(context, devices);
}

Support can_start(const Flow& flow, const Case& wanted) {
  const bool late = flow.parameters.number(latest_arrival) > 0;
  const bool urgent = flow.parameters.choice<StreamPriority>(stream_priority) == StreamPriority::high;
  if ((late || urgent) && flow.parameters.choice<Until>(span_until) == Until::call_returns)
    return Support::no("until return times a call alone: leave priority and arrival out");
  if (late && wanted.regime.clock != Clock::device)
    return Support::no("arrival is timed by the device's clock: set clock: device");
  return Support::yes();
}

}  // namespace

bool between_gpus(const Flow& flow) {
  const auto on_gpu = [](const std::optional<Endpoint>& end) {
    return end && end->device.kind == DeviceKind::gpu;
  };
  return on_gpu(flow.source) && on_gpu(flow.destination) && flow.source->device != flow.destination->device;
}

Bytes rotation_spread(Bytes used, Bytes apart) {
  const Bytes lines = std::min(round_up(used, line_bytes), apart);
  return std::clamp<Bytes>(apart / lines, 1, most_spread);
}

Bytes rotation_bytes_of(const GpuContext& context, const std::vector<DeviceId>& devices) {
  Bytes largest = 0;
  for (const DeviceId& device : devices) {
    const bool is_gpu = device.kind == DeviceKind::gpu && device.index < context.device_count();
    largest = std::max(largest, is_gpu ? turns_of_gpu_cache * context.device(device.index).l2_bytes
                                       : turns_of_cpu_cache * context.host().last_level_cache(device));
  }
  return largest;
}

Support has_ends(const GpuContext& context, const Flow& flow, Ends ends) {
  if (flow.source.has_value() != (ends != Ends::destination))
    return Support::no(flow.method + (flow.source ? " has no source" : " needs a source"));
  if (flow.destination.has_value() != (ends != Ends::source))
    return Support::no(flow.method + (flow.destination ? " has no destination" : " needs a destination"));
  return context.has(flow.executor);
}

Support kernels_reach(const GpuContext& context, const Flow& flow, Ends ends) {
  if (const Support complete = has_ends(context, flow, ends); !complete) return complete;
  for (const auto& end : {flow.source, flow.destination}) {
    if (!end) continue;
    if (const Support reached = context.reachable(flow.executor.index, *end); !reached) return reached;
  }
  return Support::yes();
}

Method gpu_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
               std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make) {
  Method row;
  row.spec = spec;
  row.parameters = std::move(parameters);
  row.available = [context] { return context->available(); };
  row.supports = [context, supports = std::move(supports)](const Flow& flow) {
    return supports(*context, flow);
  };
  row.rotation_bytes = [context](const Flow& flow) { return flow_rotation(*context, flow); };
  row.prepare = [context, make = std::move(make)](const Flow& flow, const Arenas& arenas) {
    return make(context, flow, arenas);
  };
  return row;
}

Method stream_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                  std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make) {
  parameters.insert(parameters.end(), {recorded_transfers, span_until, stream_priority, latest_arrival});
  Method row = gpu_row(context, spec, std::move(parameters), std::move(supports), std::move(make));
  row.rotation_bytes = [context](const Flow& flow) { return stream_rotation(*context, flow); };
  row.supports_in = can_start;
  row.prepare = [context, made_plain = std::move(row.prepare)](const Flow& flow, const Arenas& arenas) {
    std::unique_ptr<Transfer> made = made_plain(flow, arenas);
    const auto recorded = static_cast<std::uint64_t>(flow.parameters.number(recorded_transfers));
    if (recorded > 0) made = replay_by_graph(context, std::move(made), recorded);
    if (auto* const work = dynamic_cast<GpuTransfer*>(made.get())) {
      work->set_priority(flow.parameters.choice<StreamPriority>(stream_priority));
      if (const std::int64_t latest = flow.parameters.number(latest_arrival); latest > 0)
        work->set_latest_arrival(static_cast<Seconds>(latest) * 1e-6);
    }
    if (flow.parameters.choice<Until>(span_until) == Until::end) return made;
    return time_until_return(context, std::move(made));
  };
  return row;
}

Bytes stream_rotation(const GpuContext& context, const Flow& flow) {
  return flow.parameters.number(recorded_transfers) > 0 ? 0 : flow_rotation(context, flow);
}

}  // namespace linkscope::gpu
