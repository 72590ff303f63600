// Lookup: finds what a backend's catalog and device list hold by name.
#pragma once

#include <string>

#include "model/backend.hpp"

namespace linkscope {

/// Null where the catalog has none of that name.
const Method* find_method(const Backend& backend, const std::string& name);
const Memory* find_memory(const Backend& backend, const std::string& name);
const DeviceFacts* find_device(const Backend& backend, DeviceId id);

/// "memcpy, pointer-chase": the names that the catalog does hold, for error messages.
std::string method_names(const Backend& backend);
std::string memory_names(const Backend& backend);

}  // namespace linkscope
