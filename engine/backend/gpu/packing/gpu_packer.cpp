#include "backend/gpu/packing/gpu_packer.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::size_t most_departures = 1000;
constexpr std::size_t size_at = 1;  // of the queue, among the words
constexpr std::size_t counts_at = 2;
constexpr unsigned sweep_blocks = 4;  // on each multiprocessor
constexpr unsigned unpack_blocks = 2;
constexpr std::uint64_t nothing_wrong = std::numeric_limits<std::uint64_t>::max();

}  // namespace

GpuPacker::GpuPacker(std::shared_ptr<GpuContext> context, int device, const Endpoint& state,
                     const Endpoint& buffers, const std::optional<RuntimeCalls>& calls)
    : context_(std::move(context)),
      device_(device),
      stream_(*context_, device),
      translates_(state.traits.registered || buffers.traits.registered),
      messages_(context_, buffers, buffers.device.kind == DeviceKind::gpu ? buffers.device.index : device,
                calls, stream_.get()),
      words_(*context_, device, counts_at + most_departures),
      pinned_(allocate_pinned(*context_, calling_node(*context_, device),
                              (counts_at + most_departures) * sizeof(std::uint64_t)),
              pinned_deleter(context_)) {
  if (buffers.device.kind == DeviceKind::gpu && buffers.device.index != device_ && !buffers.traits.migrates)
    peer_ = context_->peers().hold(device_, buffers.device.index, PeerAccess::on);
  context_->load(device_, grid_kernels());
  context_->load(device_, particle_kernels());
}

GpuPacker::~GpuPacker() { static_cast<void>(gpuSetDevice(device_)); }

void GpuPacker::use_device() const { LINKSCOPE_CHECK(gpuSetDevice(device_)); }

KernelPlace GpuPacker::place(unsigned per_multiprocessor) const {
  return {stream_.get(),
          static_cast<unsigned>(context_->device(device_).multiprocessors) * per_multiprocessor};
}

template <class T>
T* GpuPacker::reached(T* at) {
  if (!translates_) return at;
  const auto [known, is_new] = addresses_.try_emplace(at, reinterpret_cast<const std::byte*>(at));
  if (is_new) {
    void* address = nullptr;
    void* const asked = const_cast<std::remove_const_t<T>*>(at);
    if (gpuHostGetDevicePointer(&address, asked, 0) == gpuSuccess) {
      known->second = static_cast<const std::byte*>(address);
    } else {
      static_cast<void>(gpuGetLastError());  // no registered memory: it has one address
    }
  }
  return reinterpret_cast<T*>(const_cast<std::byte*>(known->second));
}

void GpuPacker::copy(const std::vector<PackedRows>& rows) {
  use_device();
  for (PackedRows one : rows) {
    one.to = reached(one.to);
    one.from = reached(one.from);
    launch_row_copy(stream_.get(), one);
  }
}

void GpuPacker::synchronise() {
  use_device();
  counts_under_way_ = false;
  if (!look_) {
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream_.get()));
    return;
  }
  for (gpuError_t state = gpuStreamQuery(stream_.get()); state != gpuSuccess;
       state = gpuStreamQuery(stream_.get())) {
    if (state != gpuErrorNotReady) LINKSCOPE_CHECK(state);
    static_cast<void>(gpuGetLastError());  // "not ready" is kept as if it were an error
    look_();
  }
}

void GpuPacker::fill(const GridBox& box, std::uint64_t seed) {
  use_device();
  launch_box_fill(place(sweep_blocks), reached(box), seed);
}

void GpuPacker::poison(const GridBox& box) {
  use_device();
  launch_box_poison(place(sweep_blocks), reached(box));
}

std::optional<WrongWord> GpuPacker::compare(const GridBox& box, std::uint64_t seed) {
  use_device();
  LINKSCOPE_CHECK(gpuMemsetAsync(own_word(), 0xFF, sizeof *own_word(), stream_.get()));
  launch_box_compare(place(sweep_blocks), reached(box), seed, own_word());
  const std::uint64_t found = read_word(reinterpret_cast<const std::byte*>(own_word()));
  if (found == nothing_wrong) return std::nullopt;
  return WrongWord{found % box.columns, found / box.columns};
}

std::uint64_t GpuPacker::read_word(const std::byte* at) {
  use_device();
  LINKSCOPE_CHECK(gpuMemcpyAsync(host_words(), at, sizeof *host_words(), gpuMemcpyDefault, stream_.get()));
  synchronise();
  return *host_words();
}

std::byte* GpuPacker::allocate(Bytes bytes) {
  use_device();
  return messages_.take(bytes);
}

void GpuPacker::release(std::byte* at) {
  use_device();
  addresses_.erase(at);
  messages_.give_back(at);
}

void GpuPacker::make_particles(Particle* store, std::uint64_t first, std::uint64_t count,
                               std::uint64_t seed) {
  use_device();
  launch_make_particles(place(sweep_blocks), reached(store), first, count, seed);
}

void GpuPacker::make_room_in_queue(std::uint64_t particles) {
  if (particles <= room_in_queue_) return;
  synchronise();  // what is in the old one may still be packed
  queue_.reset();
  room_in_queue_ = 2 * particles;
  queue_.emplace(*context_, device_, room_in_queue_ * sizeof(QueuedParticle) / sizeof(std::uint64_t));
}

void GpuPacker::fill_queue(std::uint64_t from, const std::vector<Departure>& departures) {
  if (departures.size() > most_departures)
    throw Error(Fault::unsupported, "particles that go to " + std::to_string(departures.size()) +
                                        " ranks at once: a queue has room for " +
                                        std::to_string(most_departures));
  use_device();
  std::uint64_t all = 0;
  departures_.clear();
  for (const Departure& one : departures) {
    all += one.count;
    departures_.push_back(one.peer);
  }
  make_room_in_queue(all);
  const Bytes counted = (1 + departures.size()) * sizeof(std::uint64_t);
  LINKSCOPE_CHECK(gpuMemsetAsync(words_.data() + size_at, 0, counted, stream_.get()));
  ParticleQueue queue;
  queue.particles = queue_ ? reinterpret_cast<QueuedParticle*>(queue_->data()) : nullptr;
  queue.size = words_.data() + size_at;
  queue.counts = words_.data() + counts_at;
  for (std::size_t first = 0; first < departures.size(); first += DepartureTable::most) {
    DepartureTable table;
    table.from = from;
    table.first = static_cast<std::uint32_t>(first);
    std::uint64_t end = 0;
    for (std::size_t d = first; d < std::min(first + DepartureTable::most, departures.size()); ++d)
      table.ends[table.count++] = end += departures[d].count;
    launch_fill_queue(stream_.get(), table, queue);
    from += end;
  }
  LINKSCOPE_CHECK(gpuMemcpyAsync(host_words() + size_at, words_.data() + size_at, counted, gpuMemcpyDefault,
                                 stream_.get()));
  counts_under_way_ = true;
}

std::optional<std::uint32_t> GpuPacker::departure_to(int peer) const {
  const auto found = std::find(departures_.begin(), departures_.end(), peer);
  if (found == departures_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - departures_.begin());
}

std::uint64_t GpuPacker::departing(std::uint32_t departure) {
  if (counts_under_way_) synchronise();
  return host_words()[counts_at + departure];
}

std::uint64_t GpuPacker::queued(int peer) {
  const auto departure = departure_to(peer);
  return departure ? departing(*departure) : 0;
}

void GpuPacker::pack_particles(const Particle* store, int peer, std::byte* to) {
  const auto departure = departure_to(peer);
  if (!departure) throw Error(Fault::broken, "no particle goes to rank " + std::to_string(peer));
  use_device();
  const std::uint64_t count = departing(*departure);
  launch_pack_particles(place(sweep_blocks), reached(store),
                        reinterpret_cast<const QueuedParticle*>(queue_->data()), host_words()[size_at],
                        *departure, count, reached(to));
}

std::uint64_t GpuPacker::unpack_particles(Particle* store, std::uint64_t at, const std::byte* message,
                                          std::uint64_t count) {
  use_device();
  launch_unpack_particles(place(unpack_blocks), reached(store) + at, reached(message), count, own_word());
  return read_word(reinterpret_cast<const std::byte*>(own_word()));
}

std::optional<std::uint64_t> GpuPacker::count_particles(const Particle* store, std::uint64_t from,
                                                        std::uint64_t to, std::uint64_t seed,
                                                        std::vector<std::int32_t>& seen) {
  use_device();
  if (from >= to) return std::nullopt;
  const DeviceWords counts(*context_, device_, seen.size() / 2 + 1);
  auto* const on_gpu = reinterpret_cast<std::uint32_t*>(counts.data());
  const Bytes bytes = seen.size() * sizeof(std::uint32_t);
  LINKSCOPE_CHECK(gpuMemsetAsync(own_word(), 0xFF, sizeof *own_word(), stream_.get()));
  launch_count_particles(place(sweep_blocks), reached(store), from, to, seed, on_gpu, seen.size(),
                         own_word());
  const std::uint64_t found = read_word(reinterpret_cast<const std::byte*>(own_word()));
  std::vector<std::int32_t> counted(seen.size());
  LINKSCOPE_CHECK(gpuMemcpyAsync(counted.data(), on_gpu, bytes, gpuMemcpyDefault, stream_.get()));
  synchronise();
  for (std::size_t id = 0; id < seen.size(); ++id) seen[id] += counted[id];
  if (found == nothing_wrong) return std::nullopt;
  return found;
}

}  // namespace linkscope::gpu
