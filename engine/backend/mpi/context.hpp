// MpiContext: what both MPI methods share: the library, the host, and how GPUs' memory is reached without it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "backend/host/context.hpp"
#include "backend/mpi/library.hpp"
#include "backend/mpi/mpi_transfer.hpp"
#include "model/device.hpp"
#include "model/flow.hpp"
#include "model/gpu_runtime.hpp"

namespace linkscope::mpi {

class MpiContext {
 public:
  /// `devices`: of this machine, for the NUMA node beside each GPU. `gpus`: null where no runtime of theirs is at hand.
  MpiContext(std::shared_ptr<host::HostContext> host, MpiLibrary library,
             const std::vector<DeviceFacts>& devices, std::shared_ptr<GpuRuntime> gpus);

  [[nodiscard]] MpiLibrary& library() { return library_; }
  [[nodiscard]] GpuRuntime* gpus() const { return gpus_.get(); }
  /// Starts MPI where it has not been, for a caller with memory on `device`. Throws what MpiLibrary::runtime() throws.
  [[nodiscard]] MpiRuntime& runtime(const DeviceId& device);
  /// The thread that calls MPI for memory on `device`: on a CPU of its NUMA node, or of the one beside the GPU.
  [[nodiscard]] Caller caller(const DeviceId& device) const;
  /// Bytes through which rotated flows on these devices must cycle.
  [[nodiscard]] Bytes rotation_bytes(const std::vector<DeviceId>& devices) const;
  /// Throws Error{unsupported} where `where` is a GPU's memory and the library does not take such.
  void require_taken(const Endpoint& where);

 private:
  [[nodiscard]] int node_of(const DeviceId& device) const;

  std::shared_ptr<host::HostContext> host_;
  MpiLibrary library_;
  std::map<int, int> beside_;  ///< GPU -> NUMA node
  std::shared_ptr<GpuRuntime> gpus_;
};

/// Tells whether an end is a GPU's memory; every MPI takes every kind of host memory.
[[nodiscard]] inline bool on_gpu(const Endpoint& where) { return where.device.kind == DeviceKind::gpu; }

}  // namespace linkscope::mpi
