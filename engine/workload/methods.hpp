// The methods that carry an application's messages out: they differ in how messages travel.
#pragma once

#include <memory>

#include "model/method.hpp"
#include "model/packer.hpp"

namespace linkscope {
namespace host {
class HostContext;
}
namespace mpi {
class MpiContext;
}
namespace gpu {
class GpuContext;
class GpuPackers;
}  // namespace gpu
namespace xccl {
class XcclContext;
}

namespace workload {

/// Ranks on CPUs: threads of one process that store into one another's memory.
[[nodiscard]] Method direct_schedule(const std::shared_ptr<host::HostContext>& context);
/// Ranks on GPUs: threads of one process, which may share a GPU, or in several processes of one node, whose memory then
/// has an IPC handle.
[[nodiscard]] Method direct_schedule_on_gpus(const std::shared_ptr<gpu::GpuContext>& context,
                                             const std::shared_ptr<gpu::GpuPackers>& packers);
/// A process for each rank. `gpu_packer`: of ranks whose state is on a GPU; empty where there is none.
[[nodiscard]] Method mpi_schedule(const std::shared_ptr<mpi::MpiContext>& context,
                                  const MakePacker& gpu_packer);
/// Each rank has a GPU of its own, of this process or of another.
[[nodiscard]] Method xccl_schedule(const std::shared_ptr<xccl::XcclContext>& context,
                                   const std::shared_ptr<gpu::GpuPackers>& packers);

}  // namespace workload
}  // namespace linkscope
