// Finds the GPUs and starts each when it is first used.
#include "backend/gpu/context.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>

#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::size_t own_streams = 2;  // the service stream and the default one

template <class Attribute>
int attribute(Attribute which, int device) {
  int value = 0;
  if (gpuDeviceGetAttribute(&value, which, device) == gpuSuccess) return value;
  static_cast<void>(gpuGetLastError());
  return 0;
}

std::string pci_address(int device) {
  char text[32] = {};
  if (gpuDeviceGetPCIBusId(text, sizeof text, device) != gpuSuccess) return {};
  std::string address(text);
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

int numa_node(const std::string& pci) {
  std::ifstream file("/sys/bus/pci/devices/" + pci + "/numa_node");
  int node = -1;
  file >> node;
  return file ? node : -1;
}

GpuProperties look_at(int index) {
  gpuDeviceProp_t properties{};
  LINKSCOPE_CHECK(gpuGetDeviceProperties(&properties, index));
  GpuProperties device;
  device.name = properties.name;
  device.architecture = vendor::architecture(properties);
  if (device.architecture.empty()) {
    device.architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  }
  device.pci = pci_address(index);
  device.numa = numa_node(device.pci);
  device.memory_bytes = properties.totalGlobalMem;
  device.warp_size = properties.warpSize;
  device.multiprocessors = std::max(1, attribute(gpuAttributeMultiprocessors, index));
  device.l2_bytes = static_cast<Bytes>(attribute(gpuAttributeL2Bytes, index));
  device.async_engines = attribute(gpuAttributeAsyncEngines, index);
  device.clock_khz = attribute(gpuAttributeClockRate, index);
  device.memory_clock_khz = attribute(gpuAttributeMemoryClockRate, index);
  device.memory_bus_bits = attribute(gpuAttributeMemoryBusWidth, index);
  device.ecc = attribute(gpuAttributeEcc, index) != 0;
  device.integrated = attribute(gpuAttributeIntegrated, index) != 0;
  device.managed = attribute(gpuAttributeManagedMemory, index) != 0;
  device.concurrent_managed = attribute(gpuAttributeConcurrentManagedAccess, index) != 0;
  device.pageable = attribute(gpuAttributePageableMemoryAccess, index) != 0;
  device.host_tables = attribute(gpuAttributePageableByHostTables, index) != 0;
  device.direct_host_access = attribute(gpuAttributeDirectHostAccess, index) != 0;
  device.pools = attribute(gpuAttributeMemoryPools, index) != 0;
  device.multicast = vendor::multicast(index);
  return device;
}

/// Spinning waits keep the host clock's completions sharp.
unsigned schedule_flag(SyncMode waiting) {
  switch (waiting) {
    case SyncMode::spin:
      return gpuDeviceScheduleSpin;
    case SyncMode::yield:
      return gpuDeviceScheduleYield;
    case SyncMode::block:
      return gpuDeviceScheduleBlockingSync;
  }
  return gpuDeviceScheduleSpin;
}

}  // namespace

struct GpuContext::Started {
  std::map<StreamPriority, std::vector<gpuStream_t>> lanes;
  gpuStream_t service = nullptr;
  std::uint64_t* scratch = nullptr;
  std::set<const void*> loaded;
};

GpuContext::GpuContext(std::shared_ptr<host::HostContext> host, std::size_t lanes, SyncMode waiting)
    : host_(std::move(host)), waiting_(waiting), peers_(*this) {
  const std::size_t queues = std::min(lanes + own_streams, vendor::most_queues);
  if (queues > vendor::usual_queues) {
    static_cast<void>(setenv(vendor::queues_variable, std::to_string(queues).c_str(), 0));
  }
  int count = 0;
  const gpuError_t status = gpuGetDeviceCount(&count);
  static_cast<void>(gpuGetLastError());
  if (status != gpuSuccess || count == 0) {
    problem_ = "no usable GPU: " + (status == gpuSuccess ? "the driver lists none" : describe(status));
    return;
  }
  try {
    for (int index = 0; index < count; ++index) devices_.push_back(look_at(index));
  } catch (const Error& error) {
    problem_ = "gpu:" + std::to_string(devices_.size()) + " and later left out: " + error.what();
  }
  started_.resize(devices_.size());
  peers_.find(device_count());
}

GpuContext::~GpuContext() {
  for (const auto& [where, memory] : lead_in_memory_) {
    if (where.kind == DeviceKind::gpu) {
      static_cast<void>(gpuSetDevice(where.index));
      static_cast<void>(gpuFree(memory));
    } else {
      static_cast<void>(gpuFreeHost(memory));
    }
  }
  for (int index = 0; index < device_count(); ++index) {
    Started* started = started_[static_cast<std::size_t>(index)].get();
    if (started == nullptr) continue;
    static_cast<void>(gpuSetDevice(index));
    for (const auto& [priority, lanes] : started->lanes) {
      for (gpuStream_t stream : lanes) static_cast<void>(gpuStreamDestroy(stream));
    }
    static_cast<void>(gpuStreamDestroy(started->service));
    static_cast<void>(gpuFree(started->scratch));
  }
}

Support GpuContext::has(const DeviceId& id) const {
  if (id.kind != DeviceKind::gpu) return Support::no(id.text() + " is not a GPU");
  if (id.index < device_count()) return Support::yes();
  return Support::no(problem_.empty() ? "this machine has no " + id.text() : problem_);
}

void GpuContext::run_on_node(int node, std::function<void()> job) const {
  host_->workers(node).run(std::move(job));
}

void GpuContext::share_on_node(int node, Bytes bytes, const std::function<void(Bytes, Bytes)>& job) const {
  host_->workers(node).share_pinned(bytes, job);
}

int GpuContext::nearest_gpu(int node) const {
  for (int index = 0; index < device_count(); ++index) {
    if (device(index).numa == node) return index;
  }
  return 0;
}

GpuContext::Started& GpuContext::start(int index) {
  LINKSCOPE_CHECK(gpuSetDevice(index));
  auto& slot = started_.at(static_cast<std::size_t>(index));
  if (slot != nullptr) return *slot;
  const gpuError_t flagged = gpuSetDeviceFlags(schedule_flag(waiting_) | gpuDeviceMapHost);
  static_cast<void>(gpuGetLastError());
  // A device that is already set up may refuse: no harm, unless somebody asked for another way to wait.
  if (flagged != gpuSuccess && waiting_ != SyncMode::spin) {
    throw Error(Fault::unsupported, "the driver does not change how threads wait for gpu:" +
                                        std::to_string(index) + ": " + describe(flagged));
  }
  void* word = nullptr;
  LINKSCOPE_CHECK(gpuMalloc(&word, sizeof(std::uint64_t)));
  auto started = std::make_unique<Started>();
  started->scratch = static_cast<std::uint64_t*>(word);
  const gpuError_t made = gpuStreamCreateWithFlags(&started->service, gpuStreamNonBlocking);
  if (made != gpuSuccess) static_cast<void>(gpuFree(word));
  check(made, "gpuStreamCreateWithFlags");
  slot = std::move(started);
  return *slot;
}

void GpuContext::use(int index) { start(index); }

gpuStream_t GpuContext::lane_stream(int index, std::size_t ordinal, StreamPriority priority) {
  std::vector<gpuStream_t>& lanes = start(index).lanes[priority];
  int lowest = 0;
  int highest = 0;
  if (priority == StreamPriority::high) LINKSCOPE_CHECK(gpuDeviceGetStreamPriorityRange(&lowest, &highest));
  while (lanes.size() <= ordinal) {
    gpuStream_t stream = nullptr;
    LINKSCOPE_CHECK(gpuStreamCreateWithPriority(&stream, gpuStreamNonBlocking, highest));
    lanes.push_back(stream);
  }
  return lanes[ordinal];
}

gpuStream_t GpuContext::service_stream(int index) { return start(index).service; }

ServiceTurn GpuContext::service_turn(int index) {
  std::unique_lock held(service_mutex_);
  const Started& started = start(index);
  return {std::move(held), started.service, started.scratch};
}

void ServiceTurn::wait() const { LINKSCOPE_CHECK(gpuStreamSynchronize(stream_)); }

std::uint64_t ServiceTurn::read_word() const {
  std::uint64_t found = 0;
  LINKSCOPE_CHECK(gpuMemcpyAsync(&found, word_, sizeof found, gpuMemcpyDefault, stream_));
  wait();
  return found;
}

std::byte* GpuContext::lead_in_memory(const DeviceId& where) {
  const auto known = lead_in_memory_.find(where);
  if (known != lead_in_memory_.end()) return known->second;
  constexpr Bytes both_ends = 2 * lead_in_bytes;
  void* memory = nullptr;
  if (where.kind == DeviceKind::gpu) {
    use(where.index);
    LINKSCOPE_CHECK(gpuMalloc(&memory, both_ends));
  } else {
    memory = allocate_pinned(*this, where.index, both_ends);
  }
  return lead_in_memory_[where] = static_cast<std::byte*>(memory);
}

void GpuContext::load(int index, const std::vector<const void*>& kernels) {
  Started& started = start(index);
  for (const void* kernel : kernels) {
    if (!started.loaded.insert(kernel).second) continue;
    gpuFuncAttributes attributes{};
    LINKSCOPE_CHECK(gpuFuncGetAttributes(&attributes, kernel));
  }
}

Bytes GpuContext::free_memory(int index) {
  use(index);
  std::size_t unused = 0;
  std::size_t total = 0;
  LINKSCOPE_CHECK(gpuMemGetInfo(&unused, &total));
  return unused;
}

void GpuContext::require_room(int index, Bytes bytes) {
  const Bytes unused = free_memory(index);
  // Some of what is counted may be on the device already: then more would fit than is allowed here, never less.
  if (managed_[index] + bytes > unused) {
    throw Error(Fault::no_memory, format_bytes(bytes) + " do not fit: gpu:" + std::to_string(index) +
                                      " has " + format_bytes(unused) + " free, and " +
                                      format_bytes(managed_[index]) +
                                      " of it may be asked for by managed memory that exists");
  }
}

void GpuContext::spare_managed(int index, Bytes bytes) {
  if (managed_[index] != 0) require_room(index, bytes);  // else the driver knows best what fits
}

ManagedRoom::ManagedRoom(std::shared_ptr<GpuContext> context, int device, Bytes bytes)
    : context_(std::move(context)), device_(device), bytes_(bytes) {
  context_->require_room(device, bytes);
  context_->managed_[device] += bytes;
}

ManagedRoom::~ManagedRoom() { context_->managed_[device_] -= bytes_; }

Support GpuContext::reachable(int index, const Endpoint& where) const {
  if (where.traits.system_pages) {
    if (device(index).pageable) return Support::yes();
    return Support::no("kernels of gpu:" + std::to_string(index) + " cannot reach " + where.memory +
                       " memory (no pageable memory access)");
  }
  if (where.traits.migrates) {
    if (device(index).concurrent_managed) return Support::yes();
    return Support::no("gpu:" + std::to_string(index) + " has no concurrent access to managed memory");
  }
  if (where.device.kind == DeviceKind::gpu) return peers_.possible(index, where.device.index);
  return Support::yes();
}

PeerMapping GpuContext::reach(int index, const Buffer& buffer) {
  const Endpoint& where = buffer.where();
  if (const Support support = reachable(index, where); !support)
    throw Error(Fault::unsupported, support.reason());
  PeerMapping reached{buffer.data(), nullptr};
  if (where.device.kind == DeviceKind::gpu && !where.traits.migrates) {
    reached.peer = peers_.hold(index, where.device.index, PeerAccess::on);
  }
  use(index);
  if (!where.traits.registered) return reached;
  void* address = nullptr;
  LINKSCOPE_CHECK(gpuHostGetDevicePointer(&address, buffer.data(), 0));
  reached.address = static_cast<std::byte*>(address);
  return reached;
}

}  // namespace linkscope::gpu
