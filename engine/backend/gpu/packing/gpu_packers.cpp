#include "backend/gpu/packing/gpu_packers.hpp"

#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

const DeviceId& packing_device(const Endpoint& state, const Endpoint& buffers) {
  return state.device.kind == DeviceKind::gpu ? state.device : buffers.device;
}

}  // namespace

Support GpuPackers::supports(const Endpoint& state, const Endpoint& buffers) const {
  const DeviceId& device = packing_device(state, buffers);
  if (const Support here = context_->has(device); !here) return here;
  for (const Endpoint& end : {state, buffers}) {
    if (const Support reached = context_->reachable(device.index, end); !reached) return reached;
  }
  return Support::yes();
}

std::unique_ptr<GpuPacker> GpuPackers::gpu_packer(const Endpoint& state, const Endpoint& buffers) const {
  if (const Support possible = supports(state, buffers); !possible)
    throw Error(Fault::unsupported, possible.reason());
  std::optional<RuntimeCalls> calls;
  const auto found = calls_.find({std::string_view(buffers.memory), buffers.device.kind});
  if (found != calls_.end()) calls = found->second;
  return std::make_unique<GpuPacker>(context_, packing_device(state, buffers).index, state, buffers, calls);
}

}  // namespace linkscope::gpu
