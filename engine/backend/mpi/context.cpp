#include "backend/mpi/context.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace linkscope::mpi {

MpiContext::MpiContext(std::shared_ptr<host::HostContext> host, MpiLibrary library,
                       const std::vector<DeviceFacts>& devices, std::shared_ptr<GpuRuntime> gpus)
    : host_(std::move(host)), library_(std::move(library)), gpus_(std::move(gpus)) {
  for (const DeviceFacts& device : devices) {
    if (device.id.kind == DeviceKind::gpu) beside_[device.id.index] = std::max(device.numa, 0);
  }
}

MpiRuntime& MpiContext::runtime(const DeviceId& device) {
  return library_.runtime([&] {
    if (device.kind != DeviceKind::gpu || gpus_ == nullptr) return;
    if (const int code = gpus_->use(device); code != 0) throw gpus_->failure(code);
  });
}

Caller MpiContext::caller(const DeviceId& device) const {
  return {node_of(device), device, device.kind == DeviceKind::gpu ? gpus_.get() : nullptr};
}

int MpiContext::node_of(const DeviceId& device) const {
  if (device.kind == DeviceKind::numa) return device.index;
  const auto known = beside_.find(device.index);
  return known == beside_.end() ? 0 : known->second;
}

Bytes MpiContext::rotation_bytes(const std::vector<DeviceId>& devices) const {
  Bytes most = 0;
  for (const DeviceId& device : devices) {
    most = std::max(most, device.kind == DeviceKind::gpu && gpus_ != nullptr
                              ? gpus_->rotation_bytes(device)
                              : 2 * host_->largest_cache({{DeviceKind::numa, node_of(device)}}));
  }
  return most;
}

void MpiContext::require_taken(const Endpoint& where) {
  if (!on_gpu(where)) return;
  const Support taken = library_.runtime().takes_gpu_memory();
  if (!taken)
    throw Error(Fault::unsupported,
                where.memory + " memory of " + where.device.text() + ": " + taken.reason());
}

}  // namespace linkscope::mpi
