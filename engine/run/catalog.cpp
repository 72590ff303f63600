// The list of methods and memories, but for the GPUs'.
#include "run/catalog.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/host/backend.hpp"
#include "backend/mpi/methods.hpp"
#include "backend/python/methods.hpp"
#include "run/binding.hpp"
#include "run/composite_gate.hpp"
#include "workload/methods.hpp"

namespace linkscope {
namespace {

/// Adds the GPUs' part of the engine, but for their gate.
void add_gpus(Backend& backend, Backend gpus) {
  backend.name = gpus.name;
  backend.problem = gpus.problem;
  backend.versions.merge(gpus.versions);
  backend.devices.insert(backend.devices.end(), gpus.devices.begin(), gpus.devices.end());
  backend.peer_access = std::move(gpus.peer_access);
  for (auto& memory : gpus.memories) {
    const auto same = std::find_if(backend.memories.begin(), backend.memories.end(),
                                   [&](const auto& own) { return own->name() == memory->name(); });
    if (same == backend.memories.end())
      backend.memories.push_back(std::move(memory));
    else  // the GPUs' is the host's, and knows more (gpu/memory/system.cpp)
      *same = std::move(memory);
  }
  for (Method& method : gpus.methods) {
    const auto same = std::find_if(backend.methods.begin(), backend.methods.end(),
                                   [&](const Method& own) { return own.name() == method.name(); });
    if (same == backend.methods.end())
      backend.methods.push_back(std::move(method));
    else
      *same = of_one_name(std::move(*same), std::move(method));
  }
  backend.gpu_runtime = std::move(gpus.gpu_runtime);
  backend.gpu_packer = std::move(gpus.gpu_packer);
  backend.free_retired = std::move(gpus.free_retired);
}

}  // namespace

Backend open_measured(std::size_t lanes, const Environment& environment, python::GroupPlace place) {
  auto [backend, host] = host::open();
  for (const auto memory : {host::pageable_memory, host::huge_memory, host::shm_memory})
    backend.memories.push_back(memory(host));
  for (const auto method :
       {host::memcpy_copy, host::cpu_read, host::cpu_write, host::shm_copy, host::host_pointer_chase,
        host::host_allocate, host::host_free, host::host_first_touch, workload::direct_schedule})
    backend.methods.push_back(method(host));
  std::vector<std::unique_ptr<Gate>> gates;
  gates.push_back(std::move(backend.gate));
  if constexpr (std::string_view(LINKSCOPE_ENGINE) != "host") {
    Backend gpus = open_gpus(host, lanes, environment);
    gates.push_back(std::move(gpus.gate));
    add_gpus(backend, std::move(gpus));
  }
  gates.push_back(std::make_unique<python::PythonGate>());
  backend.gate = std::make_unique<CompositeGate>(std::move(gates));
  const bool many = environment.mpi_callers == MpiCallers::many;
  mpi::MpiLibrary library(mpi::SearchRoots::of(environment.mpi, environment.python_environments),
                          many ? mpi::threads_multiple : mpi::threads_single);
  const auto mpi_context =
      std::make_shared<mpi::MpiContext>(host, std::move(library), backend.devices, backend.gpu_runtime);
  backend.methods.push_back(mpi::mpi_message(mpi_context));
  backend.methods.push_back(mpi::mpi_collective(mpi_context));
  backend.methods.push_back(workload::mpi_schedule(mpi_context, backend.gpu_packer));
  // Its child is started when it is first wanted.
  const auto child = std::make_shared<python::PythonContext>(environment.python_program, std::move(place));
  for (Method& row : python::methods(child)) backend.methods.push_back(std::move(row));
  backend.further_versions = [mpi_context, child] {
    auto all = mpi_context->library().versions();
    all.merge(child->versions());
    return all;
  };
  backend.finalize = [mpi_context, child] {
    mpi_context->library().finish();
    child->finish();
  };
  return std::move(backend);
}

Backend open_fake() {
  auto [backend, host] = host::open();
  backend.name = "fake";
  backend.memories.push_back(host::pageable_memory(host));
  backend.methods.push_back(host::fake_copy(host));
  return std::move(backend);
}

}  // namespace linkscope
