// Lookups by name.
#include "run/lookup.hpp"

#include <algorithm>

namespace linkscope {
namespace {

template <class Listed>
const Listed* find_named(const std::vector<std::unique_ptr<Listed>>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry->name() == name; });
  return found == list.end() ? nullptr : found->get();
}

template <class Listed>
std::string names_of(const std::vector<std::unique_ptr<Listed>>& list) {
  std::string names;
  for (const auto& entry : list) names += (names.empty() ? "" : ", ") + std::string(entry->name());
  return names;
}

}  // namespace

const Method* find_method(const Backend& backend, const std::string& name) {
  return find_named(backend.methods, name);
}

const Memory* find_memory(const Backend& backend, const std::string& name) {
  return find_named(backend.memories, name);
}

const DeviceFacts* find_device(const Backend& backend, DeviceId id) {
  const auto found = std::find_if(backend.devices.begin(), backend.devices.end(),
                                  [&](const DeviceFacts& device) { return device.id == id; });
  return found == backend.devices.end() ? nullptr : &*found;
}

std::string method_names(const Backend& backend) { return names_of(backend.methods); }

std::string memory_names(const Backend& backend) { return names_of(backend.memories); }

}  // namespace linkscope
