// Catalog: what each engine can do. catalog.cpp and catalog_gpu.cpp are the one list of methods and memories.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/host/context.hpp"
#include "backend/python/child.hpp"
#include "model/backend.hpp"
#include "run/environment.hpp"

namespace linkscope {

/// This machine: its NUMA nodes, and its GPUs where the engine was built for them, ready to have `lanes` flows
/// driven by one GPU at the same time. `place`: this process's, for its Python child.
Backend open_measured(std::size_t lanes, const Environment& environment, python::GroupPlace place = {});
/// The GPUs' part of it, with one list for CUDA and HIP: engines without a vendor's GPUs have none (catalog_gpu.cpp).
Backend open_gpus(const std::shared_ptr<host::HostContext>& host, std::size_t lanes,
                  const Environment& environment = {});
/// One memory and one method, which fails as a plan asks: for tests of what supervises an engine.
Backend open_fake();

}  // namespace linkscope
