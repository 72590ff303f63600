// The GPU part of an engine that was built without one.
#include "run/catalog_gpu.hpp"

namespace linkscope {

std::optional<Backend> open_gpus(const std::shared_ptr<host::HostContext>& /*host*/, std::size_t /*lanes*/,
                                 const Environment& /*environment*/) {
  return std::nullopt;
}

}  // namespace linkscope
