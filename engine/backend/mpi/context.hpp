// MpiContext: what the methods of MPI share: the library, the host, and how GPUs' memory is reached without it.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "backend/host/context.hpp"
#include "backend/mpi/library.hpp"
#include "base/error.hpp"
#include "model/device.hpp"
#include "model/flow.hpp"
#include "model/gpu_runtime.hpp"

namespace linkscope::mpi {

/// The thread that calls MPI.
struct Caller {
  int node = 0;                ///< it runs on a CPU of this one
  DeviceId device;             ///< whose memory it works with
  GpuRuntime* gpus = nullptr;  ///< null unless that is a GPU
  bool hands_over = true;      ///< MPI is given that memory itself
};

/// Tells whether an end is a GPU's memory; every MPI takes every kind of host memory.
[[nodiscard]] inline bool on_gpu(const Endpoint& where) { return where.device.kind == DeviceKind::gpu; }

/// Returns the processes of a flow's members, in their order.
[[nodiscard]] inline std::vector<int> ranks_of(const Flow& flow) {
  std::vector<int> ranks;
  for (const Endpoint& member : flow.members) ranks.push_back(member.rank);
  return ranks;
}
/// Tells whether each member has a process of its own.
[[nodiscard]] inline bool in_own_processes(const Flow& flow) {
  const std::vector<int> ranks = ranks_of(flow);
  return std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size();
}

class MpiContext {
 public:
  /// `devices`: of this machine, for the NUMA node beside each GPU. `gpus`: null where no runtime of theirs is at hand.
  MpiContext(std::shared_ptr<host::HostContext> host, MpiLibrary library,
             const std::vector<DeviceFacts>& devices, std::shared_ptr<GpuRuntime> gpus)
      : host_(std::move(host)), library_(std::move(library)), gpus_(std::move(gpus)) {
    for (const DeviceFacts& device : devices) {
      if (device.id.kind == DeviceKind::gpu) beside_[device.id.index] = std::max(device.numa, 0);
    }
  }

  [[nodiscard]] MpiLibrary& library() { return library_; }
  [[nodiscard]] GpuRuntime* gpus() const { return gpus_.get(); }
  /// Starts MPI where it has not been, for a caller with memory on `device`. Throws what MpiLibrary::runtime() throws.
  [[nodiscard]] MpiRuntime& runtime(const DeviceId& device) {
    return library_.runtime([this, device] { use(device); });
  }
  /// Makes a GPU the one that the calling thread's calls are about: libraries ask the GPUs' runtime which that is.
  void use(const DeviceId& device) const {
    if (device.kind != DeviceKind::gpu || gpus_ == nullptr) return;
    if (const int code = gpus_->use(device); code != 0) throw gpus_->failure(code);
  }
  /// The thread that calls MPI for memory on `device`: on a CPU of its NUMA node, or of the one beside the GPU.
  [[nodiscard]] Caller caller(const DeviceId& device) const {
    return {node_of(device), device, device.kind == DeviceKind::gpu ? gpus_.get() : nullptr};
  }
  /// Bytes through which rotated flows on these devices must cycle.
  [[nodiscard]] Bytes rotation_bytes(const std::vector<DeviceId>& devices) const {
    Bytes most = 0;
    for (const DeviceId& device : devices) {
      most = std::max(most, device.kind == DeviceKind::gpu && gpus_ != nullptr
                                ? gpus_->rotation_bytes(device)
                                : 2 * host_->largest_cache({{DeviceKind::numa, node_of(device)}}));
    }
    return most;
  }
  /// Throws Error{unsupported} where `where` is a GPU's memory and the library does not take such.
  void require_taken(const Endpoint& where) {
    if (!on_gpu(where)) return;
    const Support taken = library_.runtime().takes_gpu_memory();
    if (!taken)
      throw Error(Fault::unsupported,
                  where.memory + " memory of " + where.device.text() + ": " + taken.reason());
  }

 private:
  [[nodiscard]] int node_of(const DeviceId& device) const {
    if (device.kind == DeviceKind::numa) return device.index;
    const auto known = beside_.find(device.index);
    return known == beside_.end() ? 0 : known->second;
  }

  std::shared_ptr<host::HostContext> host_;
  MpiLibrary library_;
  std::map<int, int> beside_;  ///< GPU -> NUMA node
  std::shared_ptr<GpuRuntime> gpus_;
};

}  // namespace linkscope::mpi
