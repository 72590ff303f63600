#include "backend/modelled/memory.hpp"

#include "backend/modelled/buffer.hpp"
#include "base/error.hpp"

namespace linkscope::modelled {

Support ModelledMemory::supports(const Endpoint& where) const {
  const DeviceKind kind = where.device.kind;
  const std::string device = where.device.text();
  if (traits().home == Home::host && kind != DeviceKind::numa) {
    return Support::no(std::string(name()) + " memory lives on a NUMA node, not on " + device);
  }
  if (traits().home == Home::gpu && kind != DeviceKind::gpu) {
    return Support::no(std::string(name()) + " memory lives on a GPU, not on " + device);
  }
  if (context_->device(where.device) == nullptr) {
    return Support::no(context_->machine().name + " has no " + device);
  }
  return Support::yes();
}

std::unique_ptr<Buffer> ModelledMemory::allocate(const Endpoint& where, Bytes bytes) const {
  const MachineDevice* device = context_->device(where.device);
  if (device != nullptr && device->memory_bytes > 0 && bytes > device->memory_bytes) {
    throw Error(Fault::no_memory, format_bytes(bytes) + " asked of " + where.device.text() + ", which has " +
                                      format_bytes(device->memory_bytes));
  }
  return std::make_unique<ModelledBuffer>(where, bytes);
}

}  // namespace linkscope::modelled
