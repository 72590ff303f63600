// open: finds the GPUs of this machine, through CUDA or HIP. The seam to `run`; no vendor type crosses it.
#pragma once

#include <cstddef>
#include <memory>

#include "model/backend.hpp"
#include "model/gpu_runtime.hpp"

namespace linkscope::host {
class HostContext;
}

namespace linkscope::gpu {

class GpuContext;

struct OpenedGpus {
  Backend backend;  ///< devices, versions, peer access and the gate; no methods or memories yet
  std::shared_ptr<GpuContext> context;  ///< what methods and memories are made with
};

/// Never throws because there is no GPU: without a driver or a device the list is empty and `problem` says why.
/// Creates no device context: a device is started when a buffer or a transfer first uses it.
/// `lanes`: flows that one GPU will drive at the same time at most; each needs a hardware queue of its own, or
/// the driver chains them, and every queue makes starting a device slower.
/// CPUs learn through `host` what memory of the GPUs they reach.
OpenedGpus open(std::shared_ptr<host::HostContext> host, std::size_t lanes,
                SyncMode waiting = SyncMode::spin);

}  // namespace linkscope::gpu
