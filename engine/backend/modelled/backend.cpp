#include "backend/modelled/backend.hpp"

#include "backend/modelled/gate.hpp"

namespace linkscope::modelled {

OpenedMachine open(Machine machine) {
  const auto context = std::make_shared<const ModelledContext>(std::move(machine));
  OpenedMachine opened{.backend = {}, .context = context};
  Backend& backend = opened.backend;
  backend.name = "modelled";
  for (const MachineDevice& device : context->machine().devices) {
    DeviceFacts& facts = backend.devices.emplace_back();
    facts.id = device.id;
    facts.name = device.name;
    facts.memory_bytes = device.memory_bytes;
  }
  for (const MachineDevice& from : context->machine().devices) {
    for (const MachineDevice& to : context->machine().devices) {
      const bool gpus = from.id.kind == DeviceKind::gpu && to.id.kind == DeviceKind::gpu;
      if (gpus && from.id != to.id && context->peers(from.id, to.id))
        backend.peer_access.emplace_back(from.id, to.id);
    }
  }
  backend.gate = std::make_unique<ModelledGate>(context);
  return opened;
}

}  // namespace linkscope::modelled
