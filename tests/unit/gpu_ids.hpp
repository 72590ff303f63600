// gpu:N in short. For tests of what knows no GPU: elsewhere its name is the GPU backend's namespace.
#pragma once

#include "model/device.hpp"

namespace linkscope {

inline DeviceId gpu(int index) { return {DeviceKind::gpu, index}; }

}  // namespace linkscope
