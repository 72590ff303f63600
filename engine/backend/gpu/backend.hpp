// open: finds the GPUs of this machine, through CUDA or HIP. The seam to `run`; no vendor type crosses it.
#pragma once

#include <cstddef>
#include <memory>

#include "model/backend.hpp"
#include "model/waiting.hpp"

namespace linkscope::host {
class Context;
}

namespace linkscope::gpu {

class Context;

struct Opened {
  Backend backend;  ///< devices, versions, peer access and the gate; no methods or memories yet
  std::shared_ptr<Context> context;  ///< what methods and memories are made with
};

/// Never throws for want of a GPU: without a driver or a device the list is empty and `problem` says why.
/// Creates no device context: a device is started when a buffer or a transfer first uses it.
/// `lanes`: flows that one GPU will drive at the same time at most; each needs a hardware queue of its own, or
/// the driver chains them, and every queue makes starting a device slower.
/// CPUs learn through `host` what memory of the GPUs they reach.
Opened open(std::shared_ptr<host::Context> host, std::size_t lanes, Waiting waiting = Waiting::spin);

}  // namespace linkscope::gpu
