// Catalog: what each engine can do. catalog.cpp is the one list of methods and memories.
#pragma once

#include <cstddef>

#include "backend/python/context.hpp"
#include "model/backend.hpp"
#include "run/environment.hpp"

namespace linkscope {

/// This machine: its NUMA nodes, and its GPUs where the engine was built for them, ready to have `lanes` flows
/// driven by one GPU at the same time. `place`: this process's, for its Python child.
Backend open_measured(std::size_t lanes, const Environment& environment, python::GroupPlace place = {});
/// One memory and one method, which fails as a plan asks: for tests of what supervises an engine.
Backend open_fake();

}  // namespace linkscope
