// GpuContext: the GPUs of this process and what is made once per device: streams, scratch, kernels, peer access.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/peers.hpp"
#include "backend/gpu/vendor.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/device.hpp"
#include "model/gpu_runtime.hpp"

namespace linkscope::host {
class HostContext;
}

namespace linkscope::gpu {

enum class StreamPriority;

/// The driver says this of one GPU.
struct GpuProperties {
  std::string name;
  std::string architecture;
  std::string pci;
  int numa = -1;
  Bytes memory_bytes = 0;
  int multiprocessors = 1;
  Bytes l2_bytes = 0;
  int async_engines = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  int warp_size = 32;
  bool ecc = false;
  bool integrated = false;
  bool managed = false;
  bool concurrent_managed = false;
  bool pageable = false;            ///< kernels can load and store memory from malloc
  bool host_tables = false;         ///< by the host's own page tables: pages need not move for that
  bool direct_host_access = false;  ///< CPUs load and store managed memory on the device
  bool pools = false;               ///< allocates in stream order
  std::optional<bool> multicast;    ///< its switches multicast for it; nothing where the driver does not tell
};

/// Bytes of the copies that wake a copy engine: a few microseconds of the slowest link.
inline constexpr Bytes lead_in_bytes = 64 * KiB;

/// The address at which a device's kernels find a buffer. Peer access that this takes stays on for as long as it lives.
struct PeerMapping {
  std::byte* address = nullptr;
  PeerHold peer;
};

/// One thread's right to fill and check with a GPU, while it lives: the GPU's service stream, and the word of its
/// memory where kernels leave what they find. The GPU is current. A thread that holds one must not ask for another.
class ServiceTurn {
 public:
  ServiceTurn(std::unique_lock<std::mutex> held, gpuStream_t stream, std::uint64_t* word)
      : held_(std::move(held)), stream_(stream), word_(word) {}

  [[nodiscard]] gpuStream_t stream() const { return stream_; }
  [[nodiscard]] std::uint64_t* word() const { return word_; }
  /// Waits for all that was enqueued.
  void wait() const;
  /// The word, once all that was enqueued has ended.
  [[nodiscard]] std::uint64_t read_word() const;

 private:
  std::unique_lock<std::mutex> held_;
  gpuStream_t stream_;
  std::uint64_t* word_;
};

/// One thread uses it, but for use() and lane_stream(), which lane threads call after it has made them, and for
/// service_turn(), which keeps its callers apart.
class GpuContext {
 public:
  /// Throws Error only where the driver breaks; `problem()` holds why there is no device.
  /// `lanes`: flows that one GPU will drive at the same time at most. `waiting`: how threads wait for a GPU.
  GpuContext(std::shared_ptr<host::HostContext> host, std::size_t lanes, SyncMode waiting);
  ~GpuContext();
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] int device_count() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] const GpuProperties& device(int index) const {
    return devices_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] host::HostContext& host() const { return *host_; }
  [[nodiscard]] const std::shared_ptr<host::HostContext>& shared_host() const { return host_; }

  /// Yes where there is a GPU.
  [[nodiscard]] Support available() const {
    return devices_.empty() ? Support::no(problem_) : Support::yes();
  }
  /// Yes where `id` is a GPU of this machine.
  [[nodiscard]] Support has(const DeviceId& id) const;
  [[nodiscard]] Peers& peers() { return peers_; }
  [[nodiscard]] const Peers& peers() const { return peers_; }

  /// Runs `job` on a CPU of NUMA node `node` and waits for it; it must not throw.
  void run_on_node(int node, std::function<void()> job) const;
  /// Runs job(offset, length) for shares of `bytes` on the CPUs of NUMA node `node`, and waits for them.
  void share_on_node(int node, Bytes bytes, const std::function<void(Bytes, Bytes)>& job) const;
  /// A GPU beside NUMA node `node`, or the first there is.
  [[nodiscard]] int nearest_gpu(int node) const;

  /// Makes `device` current for the calling thread, starting it on first use.
  void use(int device);
  /// The device's stream number `ordinal` of that priority for measured work; created once.
  gpuStream_t lane_stream(int device, std::size_t ordinal, StreamPriority priority);
  /// The device's stream for filling and checking.
  gpuStream_t service_stream(int device);
  /// Waits until no other thread has a turn: ranks of a schedule fill and check by their own threads.
  [[nodiscard]] ServiceTurn service_turn(int device);
  /// Memory of a GPU, or page-locked memory of a NUMA node, that nobody measures: a copy that only wakes an engine reads
  /// the first lead_in_bytes of it and writes those behind them. It is allocated once, so callers ask for it outside
  /// measured spans. Throws Error{no_memory}.
  [[nodiscard]] std::byte* lead_in_memory(const DeviceId& where);
  /// Loads kernels before they are needed: a lazy load behind a closed gate would wait forever.
  void load(int device, const std::vector<const void*>& kernels);

  /// Bytes of `device` that nobody has taken.
  [[nodiscard]] Bytes free_memory(int device);
  /// Throws Error{no_memory} where `bytes` more on `device` would leave too little for what ManagedRoom counts.
  void spare_managed(int device, Bytes bytes);

  /// The address by which `device`'s kernels reach `buffer`; enables peer access where that needs it.
  [[nodiscard]] PeerMapping reach(int device, const Buffer& buffer);
  /// Says whether `device`'s kernels can reach memory placed as `where` says.
  [[nodiscard]] Support reachable(int device, const Endpoint& where) const;

 private:
  friend class ManagedRoom;
  struct Started;

  Started& start(int device);
  void require_room(int device, Bytes bytes);

  std::shared_ptr<host::HostContext> host_;
  SyncMode waiting_;
  std::string problem_;
  std::vector<GpuProperties> devices_;
  Peers peers_;
  std::mutex service_mutex_;
  std::map<int, Bytes> managed_;  ///< by device
  std::map<DeviceId, std::byte*> lead_in_memory_;
  std::vector<std::unique_ptr<Started>> started_;  ///< by device; null until it is used
};

/// Counts managed memory that may all be on `device` at once, wherever its pages are now, for as long as it lives.
class ManagedRoom {
 public:
  /// Throws Error{no_memory} where it would not fit, so that eviction is never measured by accident.
  ManagedRoom(std::shared_ptr<GpuContext> context, int device, Bytes bytes);
  ~ManagedRoom();
  ManagedRoom(const ManagedRoom&) = delete;
  ManagedRoom& operator=(const ManagedRoom&) = delete;

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  Bytes bytes_;
};

}  // namespace linkscope::gpu
