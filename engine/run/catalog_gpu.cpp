// The GPUs' methods and memories: one list for CUDA and HIP.
#include "run/catalog_gpu.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "backend/gpu/backend.hpp"
#include "backend/gpu/call/allocation.hpp"
#include "backend/gpu/call/events.hpp"
#include "backend/gpu/call/first_touch.hpp"
#include "backend/gpu/call/graph.hpp"
#include "backend/gpu/call/launch.hpp"
#include "backend/gpu/copy/copy_batch.hpp"
#include "backend/gpu/copy/copy_engine.hpp"
#include "backend/gpu/ipc/method.hpp"
#include "backend/gpu/kernel/atomic.hpp"
#include "backend/gpu/kernel/bulk_copy.hpp"
#include "backend/gpu/kernel/copy.hpp"
#include "backend/gpu/kernel/exchange.hpp"
#include "backend/gpu/kernel/read.hpp"
#include "backend/gpu/kernel/stream.hpp"
#include "backend/gpu/kernel/write.hpp"
#include "backend/gpu/latency/ping_pong.hpp"
#include "backend/gpu/latency/pointer_chase.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/migration/fault_chase.hpp"
#include "backend/gpu/migration/page_fault.hpp"
#include "backend/gpu/migration/prefetch.hpp"
#include "backend/gpu/packing/gpu_packer.hpp"
#include "backend/gpu/region/kernel_strided.hpp"
#include "backend/gpu/region/pack_copy_unpack.hpp"
#include "backend/gpu/region/strided_copy.hpp"
#include "backend/host/memories.hpp"
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
  backend.methods.push_back(as_row(std::make_unique<gpu::CopyEngine>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::CopyEngine2d>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::CopyEngine3d>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelStrided>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::PackCopyUnpack>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::CopyBatch>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelCopy>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelRead>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelWrite>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelExchange>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelBulkCopy>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelAtomic>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::Stream>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::GpuPointerChase>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::PingPong>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::IpcCopy>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::IpcKernel>(opened.context)));
  const direct::DirectAssembler direct_assembler(opened.context);
  backend.free_retired = [retired = direct_assembler.retired] { retired->clear(); };
  backend.methods.push_back(direct::direct_collective(direct_assembler));
  backend.methods.push_back(workload::direct_schedule_on_gpus(opened.context, packers));
  backend.methods.push_back(as_row(std::make_unique<gpu::Prefetch>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::PageFault>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::FaultChase>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::KernelLaunch>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::Synchronize>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::EventRecord>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::GraphInstantiate>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::GraphLaunch>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::GpuAllocate>(opened.context, calls)));
  backend.methods.push_back(as_row(std::make_unique<gpu::GpuFree>(opened.context, calls)));
  backend.methods.push_back(as_row(std::make_unique<gpu::Register>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::Unregister>(opened.context)));
  backend.methods.push_back(as_row(std::make_unique<gpu::GpuFirstTouch>(opened.context)));
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
