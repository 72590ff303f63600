// The GPU part of the catalog. The build takes catalog_gpu.cpp or catalog_host_only.cpp, one of the two.
#pragma once

#include <memory>
#include <optional>

#include "backend/host/context.hpp"
#include "model/backend.hpp"
#include "run/environment.hpp"

namespace linkscope {

/// The GPUs with their methods and memories, ready for `lanes` flows on one of them at a time; nothing in an engine
/// built without a GPU vendor.
std::optional<Backend> open_gpus(const std::shared_ptr<host::HostContext>& host, std::size_t lanes,
                                 const Environment& environment = {});

}  // namespace linkscope
