// The GPUs' methods and memories: one list for CUDA and HIP.
#include "run/catalog.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "backend/gpu/backend.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "backend/gpu/product/blas_library.hpp"
#include "backend/host/backend.hpp"
#include "backend/host/page_mapping.hpp"
#include "backend/xccl/context.hpp"
#include "collective/direct_collective.hpp"
#include "workload/methods.hpp"

namespace linkscope {

Backend open_gpus(const std::shared_ptr<host::HostContext>& host, std::size_t lanes,
                  const Environment& environment) {
  gpu::OpenedGpus opened = gpu::open(host, lanes, environment.waiting);
  Backend& backend = opened.backend;
  std::vector<Method>& methods = backend.methods;
  const std::shared_ptr<gpu::GpuContext>& gpus = opened.context;
  std::vector<std::unique_ptr<gpu::GpuMemory>> memories = gpu::gpu_memories(gpus);
  memories.push_back(gpu::system_memory(gpus, host::pageable_memory(host), host::Pages::system_policy));
  memories.push_back(gpu::system_memory(gpus, host::huge_memory(host), host::Pages::transparent_huge));
  const gpu::RuntimeCallTable calls = gpu::call_table(memories);
  for (auto& memory : memories) backend.memories.push_back(std::move(memory));
  const auto packers = std::make_shared<gpu::GpuPackers>(gpus, calls);
  backend.gpu_packer = [packers](const Endpoint& state, const Endpoint& buffers) {
    return packers->gpu_packer(state, buffers);
  };
  for (const auto method :
       {gpu::copy_engine, gpu::copy_engine_2d, gpu::copy_engine_3d, gpu::kernel_strided,
        gpu::pack_copy_unpack, gpu::copy_batch, gpu::kernel_copy, gpu::kernel_read, gpu::kernel_write,
        gpu::kernel_exchange, gpu::kernel_bulk_copy, gpu::kernel_atomic, gpu::stream, gpu::gpu_pointer_chase,
        gpu::bulk_chase, gpu::ping_pong, gpu::ipc_copy, gpu::ipc_kernel})
    methods.push_back(method(gpus));
  const direct::DirectAssembler direct_assembler(gpus);
  backend.free_retired = [retired = direct_assembler.retired] { retired->clear(); };
  methods.push_back(direct::direct_collective(direct_assembler));
  methods.push_back(workload::direct_schedule_on_gpus(gpus, packers));
  for (const auto method : {gpu::prefetch, gpu::page_fault, gpu::fault_chase, gpu::kernel_launch,
                            gpu::synchronize, gpu::event_record, gpu::graph_instantiate, gpu::graph_launch})
    methods.push_back(method(gpus));
  methods.push_back(gpu::gpu_allocate(gpus, calls));
  methods.push_back(gpu::gpu_free(gpus, calls));
  methods.push_back(gpu::copy_with_setup(gpus, calls));
  for (const auto method : {gpu::register_memory, gpu::unregister_memory, gpu::gpu_first_touch})
    methods.push_back(method(gpus));
  methods.push_back(
      gpu::matrix_product(gpus, xccl::library_folders(environment.python_environments, gpu::blas_packages)));
  xccl::Search search;
  search.wanted = environment.xccl;
  search.folders = xccl::library_folders(environment.python_environments);
  const auto library = std::make_shared<xccl::XcclContext>(gpus, std::move(search));
  backend.versions.merge(library->versions());
  backend.memories.push_back(xccl::xccl_memory(library));
  methods.push_back(xccl::xccl_message(library));
  methods.push_back(xccl::xccl_collective(library));
  methods.push_back(workload::xccl_schedule(library, packers));
  return std::move(backend);
}

}  // namespace linkscope
