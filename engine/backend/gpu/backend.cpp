// open: the Backend of the GPUs found.
#include "backend/gpu/backend.hpp"

#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/gate/gpu_gate.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/vendor.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {
namespace {

std::map<std::string, std::string> versions() {
  std::map<std::string, std::string> found;
  int version = 0;
  if (gpuRuntimeGetVersion(&version) == gpuSuccess && version > 0)
    found[vendor::runtime_name] = vendor::version_text(version);
  version = 0;
  if (gpuDriverGetVersion(&version) == gpuSuccess && version > 0)
    found[vendor::driver_name] = vendor::version_text(version);
  static_cast<void>(gpuGetLastError());
  return found;
}

DeviceFacts facts_of(int index, const GpuProperties& device) {
  DeviceFacts facts;
  facts.id = {DeviceKind::gpu, index};
  facts.name = device.name;
  facts.memory_bytes = device.memory_bytes;
  facts.pci = device.pci;
  facts.numa = device.numa;
  facts.attributes = {
      {"architecture", device.architecture},
      {"multiprocessors", std::to_string(device.multiprocessors)},
      {"l2_bytes", std::to_string(device.l2_bytes)},
      {"clock_khz", std::to_string(device.clock_khz)},
      {"memory_clock_khz", std::to_string(device.memory_clock_khz)},
      {"memory_bus_bits", std::to_string(device.memory_bus_bits)},
      {"async_engines", std::to_string(device.async_engines)},
      {"warp_size", std::to_string(device.warp_size)},
      {"ecc", device.ecc ? "on" : "off"},
      {"managed_memory", device.managed ? "yes" : "no"},
      {"concurrent_managed_access", device.concurrent_managed ? "yes" : "no"},
      {"pageable_memory_access", device.pageable ? "yes" : "no"},
  };
  return facts;
}

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

/// What memory of the GPUs the CPUs load and store: managed memory of GPUs with concurrent access, where it is bound to a
/// GPU only if CPUs' accesses leave it there; a GPU's own memory where vendor and device map it for CPUs as well (an APU,
/// or a GPU that CPUs are coherent with). Holds no context.
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

/// This backend's runtime, for backends that know no GPU.
std::shared_ptr<GpuRuntime> shared_runtime(const std::shared_ptr<GpuContext>& context) {
  GpuRuntime runtime;
  runtime.use = [](const DeviceId& device) { return static_cast<int>(gpuSetDevice(device.index)); };
  runtime.bounce = [context](const Endpoint& where, Bytes bytes) {
    std::byte* const address = allocate_pinned(*context, calling_node(*context, where.device.index), bytes);
    return std::make_unique<BounceBuffer>(
        std::shared_ptr<std::byte>(address, pinned_deleter(context)),
        [](void* to, const void* from, Bytes size) noexcept {
          return static_cast<int>(gpuMemcpy(to, from, size, gpuMemcpyDefault));
        });
  };
  runtime.rotation_bytes = [context](const DeviceId& device) {
    return rotation_bytes_of(*context, {device});
  };
  runtime.failure = [](int code) { return runtime_failure(code, "a copy through the host"); };
  return std::make_shared<GpuRuntime>(std::move(runtime));
}

}  // namespace

OpenedGpus open(std::shared_ptr<host::HostContext> host, std::size_t lanes, SyncMode waiting) {
  auto context = std::make_shared<GpuContext>(std::move(host), lanes, waiting);
  context->host().widen(cpu_reach(*context));
  Backend backend;
  backend.name = vendor::name;
  backend.problem = context->problem();
  backend.versions = versions();
  for (int index = 0; index < context->device_count(); ++index) {
    backend.devices.push_back(facts_of(index, context->device(index)));
    for (int to = 0; to < context->device_count(); ++to) {
      if (index != to && context->peers().possible(index, to)) {
        backend.peer_access.emplace_back(DeviceId{DeviceKind::gpu, index}, DeviceId{DeviceKind::gpu, to});
      }
    }
  }
  backend.gate = std::make_unique<GpuGate>(context);
  backend.gpu_runtime = shared_runtime(context);
  return {std::move(backend), std::move(context)};
}

}  // namespace linkscope::gpu
