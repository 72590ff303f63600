#include "backend/gpu/packing/gpu_packer.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/packing/packing_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::size_t most_departures = 1000;
constexpr std::size_t size_at = 1;  // of the queue, among the words
constexpr std::size_t counts_at = 2;
constexpr unsigned copy_threads = 256;  // as in CloverLeaf
constexpr unsigned box_threads = 512;
constexpr unsigned particle_threads = 256;
constexpr unsigned sweep_blocks = 4;  // on each multiprocessor
constexpr unsigned unpack_blocks = 2;
constexpr std::uint64_t nothing_wrong = std::numeric_limits<std::uint64_t>::max();

unsigned blocks_of(std::uint64_t items, unsigned threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

template <class... Parameters, class... Arguments>
void launch(gpuStream_t stream, unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
  LINKSCOPE_CHECK(gpuGetLastError());
}

template <class... Parameters>
const void* address_of(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

const DeviceId& packing_device(const Endpoint& state, const Endpoint& buffers) {
  return state.device.kind == DeviceKind::gpu ? state.device : buffers.device;
}

}  // namespace

GpuPacker::GpuPacker(std::shared_ptr<GpuContext> context, int device, const Endpoint& state,
                     const Endpoint& buffers, const std::optional<RuntimeCalls>& calls)
    : context_(std::move(context)),
      device_(device),
      stream_(*context_, device),
      translates_(state.traits.registered || buffers.traits.registered),
      messages_(buffers, buffers.device.kind == DeviceKind::gpu ? buffers.device.index : device, calls,
                stream()),
      words_(*context_, device, counts_at + most_departures),
      pinned_(allocate_pinned(*context_, calling_node(*context_, device),
                              (counts_at + most_departures) * sizeof(std::uint64_t)),
              pinned_deleter(context_)) {
  if (buffers.device.kind == DeviceKind::gpu && buffers.device.index != device_ && !buffers.traits.migrates)
    peer_ = context_->peers().hold(device_, buffers.device.index, PeerAccess::on);
  context_->load(device_, {address_of(&copy_rows_kernel), address_of(&copy_words_kernel),
                           address_of(&fill_box_kernel), address_of(&poison_box_kernel),
                           address_of(&compare_box_kernel), address_of(&make_particles_kernel),
                           address_of(&fill_queue_kernel), address_of(&pack_particles_kernel),
                           address_of(&unpack_particles_kernel), address_of(&count_particles_kernel)});
}

GpuPacker::~GpuPacker() { static_cast<void>(gpuSetDevice(device_)); }

void GpuPacker::use_device() const { LINKSCOPE_CHECK(gpuSetDevice(device_)); }

unsigned GpuPacker::busy_blocks(std::uint64_t items, unsigned threads) const {
  const auto most = static_cast<unsigned>(context_->device(device_).multiprocessors) * sweep_blocks;
  return static_cast<unsigned>(std::clamp<std::uint64_t>((items + threads - 1) / threads, 1, most));
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

/// One kernel for each, as applications write it: a thread copies a row, or a word where there is one row. Addresses and
/// pitches are multiples of 8 bytes.
void GpuPacker::copy(const std::vector<PackedRows>& rows) {
  use_device();
  for (PackedRows one : rows) {
    if (one.words == 0 || one.rows == 0) continue;
    one.to = reached(one.to);
    one.from = reached(one.from);
    const bool is_row = one.rows == 1;
    launch(stream(), blocks_of(is_row ? one.words : one.rows, copy_threads), copy_threads,
           is_row ? &copy_words_kernel : &copy_rows_kernel, one);
  }
}

void GpuPacker::synchronise() {
  use_device();
  counts_under_way_ = false;
  if (!look_) {
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream()));
    return;
  }
  while (!idle()) look_();
}

void GpuPacker::move(std::byte* to, const std::byte* from, Bytes bytes) {
  use_device();
  LINKSCOPE_CHECK(gpuMemcpyAsync(to, from, bytes, gpuMemcpyDefault, stream()));
}

void GpuPacker::fill(const GridBox& box, std::uint64_t seed) {
  use_device();
  launch(stream(), busy_blocks(box.rows * box.columns, box_threads), box_threads, &fill_box_kernel,
         reached(box), seed);
}

void GpuPacker::poison(const GridBox& box) {
  use_device();
  launch(stream(), busy_blocks(box.rows * box.columns, box_threads), box_threads, &poison_box_kernel,
         reached(box));
}

std::optional<WrongWord> GpuPacker::compare(const GridBox& box, std::uint64_t seed) {
  const auto found = first_wrong([&](Counter* first) {
    launch(stream(), busy_blocks(box.rows * box.columns, box_threads), box_threads, &compare_box_kernel,
           reached(box), seed, first);
  });
  if (!found) return std::nullopt;
  return WrongWord{*found % box.columns, *found / box.columns};
}

/// The number of the first thing that is wrong, to which `search` lowers a word.
template <class Search>
std::optional<std::uint64_t> GpuPacker::first_wrong(const Search& search) {
  use_device();
  LINKSCOPE_CHECK(gpuMemsetAsync(own_word(), 0xFF, sizeof *own_word(), stream()));
  search(reinterpret_cast<Counter*>(own_word()));
  const std::uint64_t found = read_word(reinterpret_cast<const std::byte*>(own_word()));
  return found == nothing_wrong ? std::nullopt : std::optional(found);
}

std::uint64_t GpuPacker::read_word(const std::byte* at) {
  use_device();
  LINKSCOPE_CHECK(gpuMemcpyAsync(host_words(), at, sizeof *host_words(), gpuMemcpyDefault, stream()));
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
  launch(stream(), busy_blocks(count * particle_words, particle_threads), particle_threads,
         &make_particles_kernel, reached(store), first, count, seed);
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
  LINKSCOPE_CHECK(gpuMemsetAsync(words_.data() + size_at, 0, counted, stream()));
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
    if (end > 0)
      launch(stream(), blocks_of(end, particle_threads), particle_threads, &fill_queue_kernel, table, queue);
    from += end;
  }
  LINKSCOPE_CHECK(
      gpuMemcpyAsync(host_words() + size_at, words_.data() + size_at, counted, gpuMemcpyDefault, stream()));
  counts_under_way_ = true;
}

std::uint64_t GpuPacker::pack_particles(const Particle* store, const Departure& departure, std::byte* to) {
  const auto found = std::find(departures_.begin(), departures_.end(), departure.peer);
  if (found == departures_.end()) return 0;
  const auto index = static_cast<std::uint32_t>(found - departures_.begin());
  if (counts_under_way_) synchronise();
  const std::uint64_t count = host_words()[counts_at + index];
  if (count != departure.count) return count;
  use_device();
  const std::uint64_t queued = host_words()[size_at];
  launch(stream(), busy_blocks(queued, particle_threads), particle_threads, &pack_particles_kernel,
         reached(store), reinterpret_cast<const QueuedParticle*>(queue_->data()), queued, index, count,
         reached(to));
  return count;
}

std::uint64_t GpuPacker::unpack_particles(Particle* store, std::uint64_t at, const std::byte* message,
                                          std::uint64_t count) {
  use_device();
  const auto blocks = static_cast<unsigned>(context_->device(device_).multiprocessors) * unpack_blocks;
  launch(stream(), blocks, particle_threads, &unpack_particles_kernel, reached(store) + at,
         const_cast<std::byte*>(reached(message)), count, own_word());
  return read_word(reinterpret_cast<const std::byte*>(own_word()));
}

std::optional<std::uint64_t> GpuPacker::count_particles(const Particle* store, std::uint64_t from,
                                                        std::uint64_t to, std::uint64_t seed,
                                                        std::vector<std::int32_t>& seen) {
  if (from >= to) return std::nullopt;
  const DeviceWords counts(*context_, device_, seen.size() / 2 + 1);
  auto* const on_gpu = reinterpret_cast<std::uint32_t*>(counts.data());
  const Bytes bytes = seen.size() * sizeof(std::uint32_t);
  const auto found = first_wrong([&](Counter* first) {
    launch(stream(), busy_blocks(to - from, particle_threads), particle_threads, &count_particles_kernel,
           reached(store), from, to, seed, on_gpu, seen.size(), first);
  });
  std::vector<std::int32_t> counted(seen.size());
  LINKSCOPE_CHECK(gpuMemcpyAsync(counted.data(), on_gpu, bytes, gpuMemcpyDefault, stream()));
  synchronise();
  for (std::size_t id = 0; id < seen.size(); ++id) seen[id] += counted[id];
  return found;
}

Support GpuPackers::supports(const Endpoint& state, const Endpoint& buffers) const {
  const DeviceId& device = packing_device(state, buffers);
  if (const Support here = context_->has(device); !here) return here;
  for (const Endpoint& end : {state, buffers}) {
    if (const Support reached = context_->reachable(device.index, end); !reached) return reached;
  }
  return Support::yes();
}

std::unique_ptr<GpuPacker> GpuPackers::gpu_packer(const Endpoint& state, const Endpoint& buffers) const {
  if (const Support possible = supports(state, buffers); !possible)
    throw Error(Fault::unsupported, possible.reason());
  std::optional<RuntimeCalls> calls;
  const auto found = calls_.find({std::string_view(buffers.memory), buffers.device.kind});
  if (found != calls_.end()) calls = found->second;
  return std::make_unique<GpuPacker>(context_, packing_device(state, buffers).index, state, buffers, calls);
}

}  // namespace linkscope::gpu
