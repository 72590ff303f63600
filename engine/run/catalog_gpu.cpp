// The GPUs' methods and memories: one list for CUDA and HIP.
#include "run/catalog_gpu.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "backend/gpu/backend.hpp"
#include "backend/gpu/call/methods.hpp"
#include "backend/gpu/copy/methods.hpp"
#include "backend/gpu/kernel/methods.hpp"
#include "backend/gpu/latency/methods.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "backend/host/backend.hpp"
#include "backend/host/page_mapping.hpp"
#include "backend/xccl/context.hpp"
#include "backend/xccl/methods.hpp"
#include "collective/direct_collective.hpp"
#include "workload/methods.hpp"

namespace linkscope {

std::optional<Backend> open_gpus(const std::shared_ptr<host::HostContext>& host, std::size_t lanes,
                                 const Environment& environment) {
  gpu::OpenedGpus opened = gpu::open(host, lanes, environment.waiting);
  Backend& backend = opened.backend;
  std::vector<std::unique_ptr<gpu::GpuMemory>> memories = gpu::gpu_memories(opened.context);
  memories.push_back(
      gpu::system_memory(opened.context, host::pageable_memory(host), host::Pages::system_policy));
  memories.push_back(
      gpu::system_memory(opened.context, host::huge_memory(host), host::Pages::transparent_huge));
  const gpu::RuntimeCallTable calls = gpu::call_table(memories);
  for (auto& memory : memories) backend.memories.push_back(std::move(memory));
  const auto packers = std::make_shared<gpu::GpuPackers>(opened.context, calls);
  backend.gpu_packer = [packers](const Endpoint& state, const Endpoint& buffers) {
    return packers->gpu_packer(state, buffers);
  };
  backend.methods.push_back(gpu::copy_engine(opened.context));
  backend.methods.push_back(gpu::copy_engine_2d(opened.context));
  backend.methods.push_back(gpu::copy_engine_3d(opened.context));
  backend.methods.push_back(gpu::kernel_strided(opened.context));
  backend.methods.push_back(gpu::pack_copy_unpack(opened.context));
  backend.methods.push_back(gpu::copy_batch(opened.context));
  backend.methods.push_back(gpu::kernel_copy(opened.context));
  backend.methods.push_back(gpu::kernel_read(opened.context));
  backend.methods.push_back(gpu::kernel_write(opened.context));
  backend.methods.push_back(gpu::kernel_exchange(opened.context));
  backend.methods.push_back(gpu::kernel_bulk_copy(opened.context));
  backend.methods.push_back(gpu::kernel_atomic(opened.context));
  backend.methods.push_back(gpu::stream(opened.context));
  backend.methods.push_back(gpu::gpu_pointer_chase(opened.context));
  backend.methods.push_back(gpu::ping_pong(opened.context));
  backend.methods.push_back(gpu::ipc_copy(opened.context));
  backend.methods.push_back(gpu::ipc_kernel(opened.context));
  const direct::DirectAssembler direct_assembler(opened.context);
  backend.free_retired = [retired = direct_assembler.retired] { retired->clear(); };
  backend.methods.push_back(direct::direct_collective(direct_assembler));
  backend.methods.push_back(workload::direct_schedule_on_gpus(opened.context, packers));
  backend.methods.push_back(gpu::prefetch(opened.context));
  backend.methods.push_back(gpu::page_fault(opened.context));
  backend.methods.push_back(gpu::fault_chase(opened.context));
  backend.methods.push_back(gpu::kernel_launch(opened.context));
  backend.methods.push_back(gpu::synchronize(opened.context));
  backend.methods.push_back(gpu::event_record(opened.context));
  backend.methods.push_back(gpu::graph_instantiate(opened.context));
  backend.methods.push_back(gpu::graph_launch(opened.context));
  backend.methods.push_back(gpu::gpu_allocate(opened.context, calls));
  backend.methods.push_back(gpu::gpu_free(opened.context, calls));
  backend.methods.push_back(gpu::register_memory(opened.context));
  backend.methods.push_back(gpu::unregister_memory(opened.context));
  backend.methods.push_back(gpu::gpu_first_touch(opened.context));
  xccl::Search search;
  search.wanted = environment.xccl;
  search.folders = xccl::library_folders(environment.python_environments);
  const auto library = std::make_shared<xccl::XcclContext>(opened.context, std::move(search));
  backend.versions.merge(library->versions());
  backend.memories.push_back(xccl::xccl_memory(library));
  backend.methods.push_back(xccl::xccl_message(library));
  backend.methods.push_back(xccl::xccl_collective(library));
  backend.methods.push_back(workload::xccl_schedule(library, packers));
  return std::move(backend);
}

}  // namespace linkscope
