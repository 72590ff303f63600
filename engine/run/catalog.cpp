// The one list of methods and memories.
#include "run/catalog.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/fake/fake_copy.hpp"
#include "backend/host/backend.hpp"
#include "backend/mpi/methods.hpp"
#include "backend/python/methods.hpp"
#include "run/binding.hpp"
#include "run/catalog_gpu.hpp"
#include "run/composite_gate.hpp"
#include "workload/methods.hpp"

namespace linkscope {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// Adds a memory, in the place of one of that name: the GPUs' is the host's, and knows more (gpu/memory/system.cpp).
void add_gpu_memory(std::vector<std::unique_ptr<Memory>>& memories, std::unique_ptr<Memory> added) {
  const auto same = std::find_if(memories.begin(), memories.end(),
                                 [&](const auto& memory) { return memory->name() == added->name(); });
  if (same == memories.end()) {
    memories.push_back(std::move(added));
  } else {
    *same = std::move(added);
  }
}

/// Adds a method; where the list has one of that name, which CPUs carry out, the two share the name.
void add_gpu_method(std::vector<Method>& methods, Method added) {
  const auto same = std::find_if(methods.begin(), methods.end(),
                                 [&](const Method& method) { return method.name() == added.name(); });
  if (same == methods.end()) {
    methods.push_back(std::move(added));
  } else {
    *same = of_one_name(std::move(*same), std::move(added));
  }
}

/// One gate for whatever a case mixes; `gpus` may be null.
std::unique_ptr<Gate> join(std::unique_ptr<Gate> host, std::unique_ptr<Gate> gpus) {
  std::vector<std::unique_ptr<Gate>> gates;
  gates.push_back(std::move(host));
  gates.push_back(std::move(gpus));
  gates.push_back(std::make_unique<python::PythonGate>());
  return std::make_unique<CompositeGate>(std::move(gates));
}

/// One engine out of the host's part and the GPUs'.
Backend join(Backend host, Backend gpus) {
  host.name = gpus.name;
  host.problem = gpus.problem;
  host.versions.merge(gpus.versions);
  append(host.devices, gpus.devices);
  append(host.peer_access, gpus.peer_access);
  for (auto& memory : gpus.memories) add_gpu_memory(host.memories, std::move(memory));
  for (auto& method : gpus.methods) add_gpu_method(host.methods, std::move(method));
  host.gpu_runtime = std::move(gpus.gpu_runtime);
  host.gpu_packer = std::move(gpus.gpu_packer);
  host.gate = join(std::move(host.gate), std::move(gpus.gate));
  return host;
}

/// What CPUs do by MPI, with every memory of this machine.
void add_mpi(Backend& backend, const std::shared_ptr<host::HostContext>& host,
             const Environment& environment) {
  const bool many = environment.mpi_callers == MpiCallers::many;
  mpi::MpiLibrary library(mpi::SearchRoots::of(environment.mpi, environment.python_environments),
                          many ? mpi::threads_multiple : mpi::threads_single);
  const auto context =
      std::make_shared<mpi::MpiContext>(host, std::move(library), backend.devices, backend.gpu_runtime);
  backend.methods.push_back(mpi::mpi_message(context));
  backend.methods.push_back(mpi::mpi_collective(context));
  backend.methods.push_back(workload::mpi_schedule(context, backend.gpu_packer));
  backend.further_versions = [context] { return context->library().versions(); };
  backend.finalize = [context] { context->library().finish(); };
}

/// What a Python child carries out, which is started when it is first wanted.
void add_python(Backend& backend, const Environment& environment, python::GroupPlace place) {
  const auto context = std::make_shared<python::PythonContext>(environment.python_program, std::move(place));
  for (Method& row : python::methods(context)) backend.methods.push_back(std::move(row));
  backend.further_versions = [before = std::move(backend.further_versions), context] {
    auto all = before();
    all.merge(context->versions());
    return all;
  };
  backend.finalize = [before = std::move(backend.finalize), context] {
    before();
    context->finish();
  };
}

}  // namespace

Backend open_measured(std::size_t lanes, const Environment& environment, python::GroupPlace place) {
  host::HostBackend opened = host::open();
  Backend& backend = opened.backend;
  backend.memories.push_back(host::pageable_memory(opened.context));
  backend.memories.push_back(host::huge_memory(opened.context));
  backend.memories.push_back(host::shm_memory(opened.context));
  backend.methods.push_back(host::memcpy_copy(opened.context));
  backend.methods.push_back(host::cpu_read(opened.context));
  backend.methods.push_back(host::cpu_write(opened.context));
  backend.methods.push_back(host::shm_copy(opened.context));
  backend.methods.push_back(host::host_pointer_chase(opened.context));
  backend.methods.push_back(host::host_allocate(opened.context));
  backend.methods.push_back(host::host_free(opened.context));
  backend.methods.push_back(host::host_first_touch(opened.context));
  backend.methods.push_back(workload::direct_schedule(opened.context));
  auto gpus = open_gpus(opened.context, lanes, environment);
  if (!gpus) backend.gate = join(std::move(backend.gate), nullptr);
  Backend all = gpus ? join(std::move(backend), *std::move(gpus)) : std::move(backend);
  add_mpi(all, opened.context, environment);
  add_python(all, environment, std::move(place));
  return all;
}

Backend open_fake() {
  host::HostBackend opened = host::open();
  opened.backend.name = "fake";
  opened.backend.memories.push_back(host::pageable_memory(opened.context));
  opened.backend.methods.push_back(fake::fake_copy(opened.context));
  return std::move(opened.backend);
}

}  // namespace linkscope
