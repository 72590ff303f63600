#include "backend/gpu/packing/particle_kernels.hpp"

#include <algorithm>

#include "backend/gpu/vendor/check.hpp"
#include "model/particle.hpp"

namespace linkscope::gpu {
namespace {

using vendor::Counter;

constexpr unsigned threads = 256;

__device__ std::uint64_t own_first() {
  return blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
}
__device__ std::uint64_t own_step() { return gridDim.x * static_cast<std::uint64_t>(blockDim.x); }

__device__ std::uint64_t* words_of(Particle* store, std::uint64_t index) {
  return reinterpret_cast<std::uint64_t*>(store + index);
}
__device__ const std::uint64_t* words_of(const Particle* store, std::uint64_t index) {
  return reinterpret_cast<const std::uint64_t*>(store + index);
}

__global__ void make_particles_kernel(Particle* store, std::uint64_t first, std::uint64_t count,
                                      std::uint64_t seed) {
  for (std::uint64_t i = own_first(); i < count * particle_words; i += own_step()) {
    const std::uint64_t particle = i / particle_words;
    const auto word = static_cast<unsigned>(i - particle * particle_words);
    words_of(store, particle)[word] = particle_word(seed, first + particle, word);
  }
}

__global__ void fill_queue_kernel(DepartureTable table, ParticleQueue queue) {
  const std::uint64_t i = own_first();
  if (table.count == 0 || i >= table.ends[table.count - 1]) return;
  std::uint32_t departure = 0;
  while (i >= table.ends[departure]) ++departure;
  departure += table.first;
  const Counter place = atomicAdd(reinterpret_cast<Counter*>(queue.counts + departure), Counter{1});
  const Counter at = atomicAdd(reinterpret_cast<Counter*>(queue.size), Counter{1});
  queue.particles[at] = {departure, static_cast<std::uint32_t>(place), table.from + i};
}

/// The columns of a message. Neighbouring threads have neighbouring places: so whole lines of a column are stored and
/// loaded.
class ColumnAccess {
 public:
  __device__ ColumnAccess(std::byte* message, std::uint64_t count)
      : ColumnAccess(message, count, MessageColumns(count)) {}

  __device__ void put(const Particle& particle, std::uint64_t place) const {
    for (unsigned i = 0; i < MessageColumns::wholes; ++i) whole_[i * count_ + place] = particle.whole[i];
    for (unsigned i = 0; i < MessageColumns::reals; ++i) real_[i * count_ + place] = particle.real[i];
    for (unsigned i = 0; i < MessageColumns::texts; ++i) text_[i * count_ + place] = particle.text[i];
  }
  __device__ void get(Particle& particle, std::uint64_t place) const {
    for (unsigned i = 0; i < MessageColumns::wholes; ++i) particle.whole[i] = whole_[i * count_ + place];
    for (unsigned i = 0; i < MessageColumns::reals; ++i) particle.real[i] = real_[i * count_ + place];
    for (unsigned i = 0; i < MessageColumns::texts; ++i) particle.text[i] = text_[i * count_ + place];
  }

 private:
  __device__ ColumnAccess(std::byte* message, std::uint64_t count, const MessageColumns& columns)
      : count_(count),
        whole_(reinterpret_cast<std::int32_t*>(message + columns.whole)),
        real_(reinterpret_cast<double*>(message + columns.real)),
        text_(reinterpret_cast<char*>(message + columns.text)) {}

  std::uint64_t count_;
  std::int32_t* whole_;
  double* real_;
  char* text_;
};

__global__ void pack_particles_kernel(const Particle* store, const QueuedParticle* queue,
                                      std::uint64_t queued, std::uint32_t departure, std::uint64_t count,
                                      std::byte* to) {
  if (own_first() == 0) *reinterpret_cast<std::uint64_t*>(to) = count;  // two int32: the number, and 0
  const ColumnAccess columns(to, count);
  for (std::uint64_t i = own_first(); i < queued; i += own_step()) {
    const QueuedParticle particle = queue[i];
    if (particle.departure == departure) columns.put(store[particle.index], particle.place);
  }
}

__global__ void unpack_particles_kernel(Particle* store, std::byte* message, std::uint64_t count,
                                        std::uint64_t* number) {
  if (own_first() == 0) *number = *reinterpret_cast<const std::uint32_t*>(message);
  const ColumnAccess columns(message, count);
  for (std::uint64_t i = own_first(); i < count; i += own_step()) columns.get(store[i], i);
}

__global__ void count_particles_kernel(const Particle* store, std::uint64_t from, std::uint64_t to,
                                       std::uint64_t seed, std::uint32_t* seen, std::uint64_t ids,
                                       Counter* first_altered) {
  for (std::uint64_t index = from + own_first(); index < to; index += own_step()) {
    const std::uint64_t* words = words_of(store, index);
    const std::uint64_t id = words[0];
    bool altered = id >= ids;
    for (unsigned word = 1; word < particle_words; ++word)
      altered = altered || words[word] != particle_word(seed, id, word);
    if (altered) atomicMin(first_altered, static_cast<Counter>(index));
    if (id < ids) vendor::atomic_add<vendor::Scope::device>(seen + id, std::uint32_t{1});
  }
}

unsigned blocks_for(const KernelPlace& place, std::uint64_t items) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((items + threads - 1) / threads, 1, place.blocks));
}

}  // namespace

void launch_make_particles(const KernelPlace& place, Particle* store, std::uint64_t first,
                           std::uint64_t count, std::uint64_t seed) {
  make_particles_kernel<<<blocks_for(place, count * particle_words), threads, 0, place.stream>>>(store, first,
                                                                                                 count, seed);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_fill_queue(gpuStream_t stream, const DepartureTable& table, const ParticleQueue& queue) {
  const std::uint64_t all = table.count == 0 ? 0 : table.ends[table.count - 1];
  if (all == 0) return;
  fill_queue_kernel<<<static_cast<unsigned>((all + threads - 1) / threads), threads, 0, stream>>>(table,
                                                                                                  queue);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_pack_particles(const KernelPlace& place, const Particle* store, const QueuedParticle* queue,
                           std::uint64_t queued, std::uint32_t departure, std::uint64_t count,
                           std::byte* to) {
  pack_particles_kernel<<<blocks_for(place, queued), threads, 0, place.stream>>>(store, queue, queued,
                                                                                 departure, count, to);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_unpack_particles(const KernelPlace& place, Particle* store, const std::byte* message,
                             std::uint64_t count, std::uint64_t* number) {
  unpack_particles_kernel<<<place.blocks, threads, 0, place.stream>>>(store, const_cast<std::byte*>(message),
                                                                      count, number);
  LINKSCOPE_CHECK(gpuGetLastError());
}

void launch_count_particles(const KernelPlace& place, const Particle* store, std::uint64_t from,
                            std::uint64_t to, std::uint64_t seed, std::uint32_t* seen, std::uint64_t ids,
                            std::uint64_t* first_altered) {
  if (from >= to) return;
  count_particles_kernel<<<blocks_for(place, to - from), threads, 0, place.stream>>>(
      store, from, to, seed, seen, ids, reinterpret_cast<Counter*>(first_altered));
  LINKSCOPE_CHECK(gpuGetLastError());
}

std::vector<const void*> particle_kernels() {
  return {reinterpret_cast<const void*>(&make_particles_kernel),
          reinterpret_cast<const void*>(&fill_queue_kernel),
          reinterpret_cast<const void*>(&pack_particles_kernel),
          reinterpret_cast<const void*>(&unpack_particles_kernel),
          reinterpret_cast<const void*>(&count_particles_kernel)};
}

}  // namespace linkscope::gpu
