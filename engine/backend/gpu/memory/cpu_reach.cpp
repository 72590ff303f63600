#include "backend/gpu/memory/cpu_reach.hpp"

#include <string>
#include <vector>

namespace linkscope::gpu {
namespace {

Support reached(const GpuProperties& device, const Endpoint& where) {
  const std::string end = where.device.text();
  if (where.traits.migrates) {
    if (!device.concurrent_managed)
      return Support::no("CPUs cannot work on managed memory of " + end +
                         " beside it (no concurrent access)");
    const bool stays =
        where.placement == Placement::first_touch || device.integrated || device.direct_host_access;
    if (stays) return Support::yes();
    return Support::no("a CPU's access brings managed pages of " + end +
                       " to the host here (no direct access from the host)");
  }
  if (!where.traits.plain_allocation || !vendor::maps_device_memory_for_cpus)
    return Support::no("CPUs have no mapping of " + where.memory + " memory of " + end);
  if (device.integrated || device.direct_host_access) return Support::yes();
  return Support::no("CPUs do not reach the memory of " + end +
                     " (neither integrated, nor accessible from the host directly)");
}

}  // namespace

host::Reach cpu_reach(const GpuContext& context) {
  std::vector<GpuProperties> devices;
  for (int index = 0; index < context.device_count(); ++index) devices.push_back(context.device(index));
  return [devices = std::move(devices)](const Endpoint& where) {
    const auto index = static_cast<std::size_t>(where.device.index);
    if (where.device.kind != DeviceKind::gpu || index >= devices.size())
      return Support::no("there is no " + where.device.text() + " here");
    return reached(devices[index], where);
  };
}

}  // namespace linkscope::gpu
