// The kernels of packing: they copy, fill and check boxes of a grid, and make, queue, pack, unpack and check particles.
// Included by gpu_packer.cu only.
#pragma once

#include <array>
#include <cstdint>

#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "model/packer.hpp"

namespace linkscope::gpu {

/// A particle of the queue: the departure that it goes with, its number among that departure's, and its place in the
/// store.
struct QueuedParticle {
  std::uint32_t departure = 0;
  std::uint32_t place = 0;
  std::uint64_t index = 0;
};
static_assert(sizeof(QueuedParticle) == 16);

/// The particles that one launch queues. Departure first + d has those up to ends[d], counted from `from` on, behind
/// those of the departure before.
struct DepartureTable {
  static constexpr unsigned most = 64;
  std::uint64_t from = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::array<std::uint64_t, most> ends{};
};

/// The queue, all of it in memory of the GPU.
struct ParticleQueue {
  QueuedParticle* particles = nullptr;
  std::uint64_t* size = nullptr;    ///< of the queue
  std::uint64_t* counts = nullptr;  ///< by departure
};

inline constexpr std::uint64_t poison_word = 0x0101010101010101ULL * poison_byte;

static __global__ void copy_rows_kernel(PackedRows rows) {
  const std::uint64_t row = thread_index();
  if (row >= rows.rows) return;
  auto* to = reinterpret_cast<std::uint64_t*>(rows.to + row * rows.to_pitch);
  const auto* from = reinterpret_cast<const std::uint64_t*>(rows.from + row * rows.from_pitch);
  for (std::uint64_t word = 0; word < rows.words; ++word) to[word] = from[word];
}

static __global__ void copy_words_kernel(PackedRows rows) {
  const std::uint64_t word = thread_index();
  if (word >= rows.words) return;
  reinterpret_cast<std::uint64_t*>(rows.to)[word] = reinterpret_cast<const std::uint64_t*>(rows.from)[word];
}

/// Calls visit(number, word's place, row, column) for each of a box's words that is this thread's, in rising order.
template <class Visit>
__device__ void each_word(const GridBox& box, Visit visit) {
  const std::uint64_t words = box.rows * box.columns;
  for (std::uint64_t i = thread_index(); i < words; i += thread_count()) {
    const std::uint64_t row = i / box.columns;
    const std::uint64_t column = i - row * box.columns;
    if (!visit(i, reinterpret_cast<std::uint64_t*>(box.base + row * box.pitch) + column,
               box.first + row * box.step + column))
      return;
  }
}

static __global__ void fill_box_kernel(GridBox box, std::uint64_t seed) {
  each_word(box, [&](std::uint64_t, std::uint64_t* at, std::uint64_t index) {
    *at = pattern_word(seed, index);
    return true;
  });
}

static __global__ void poison_box_kernel(GridBox box) {
  each_word(box, [](std::uint64_t, std::uint64_t* at, std::uint64_t) {
    *at = poison_word;
    return true;
  });
}

static __global__ void compare_box_kernel(GridBox box, std::uint64_t seed, Counter* first_wrong) {
  each_word(box, [&](std::uint64_t number, const std::uint64_t* at, std::uint64_t index) {
    if (*at == pattern_word(seed, index)) return true;
    atomicMin(first_wrong, static_cast<Counter>(number));
    return false;
  });
}

__device__ inline std::uint64_t* words_of(Particle* store, std::uint64_t index) {
  return reinterpret_cast<std::uint64_t*>(store + index);
}
__device__ inline const std::uint64_t* words_of(const Particle* store, std::uint64_t index) {
  return reinterpret_cast<const std::uint64_t*>(store + index);
}

static __global__ void make_particles_kernel(Particle* store, std::uint64_t first, std::uint64_t count,
                                             std::uint64_t seed) {
  for (std::uint64_t i = thread_index(); i < count * particle_words; i += thread_count()) {
    const std::uint64_t particle = i / particle_words;
    const auto word = static_cast<unsigned>(i - particle * particle_words);
    words_of(store, particle)[word] = particle_word(seed, first + particle, word);
  }
}

static __global__ void fill_queue_kernel(DepartureTable table, ParticleQueue queue) {
  const std::uint64_t i = thread_index();
  if (table.count == 0 || i >= table.ends[table.count - 1]) return;
  std::uint32_t departure = 0;
  while (i >= table.ends[departure]) ++departure;
  departure += table.first;
  const Counter place = atomicAdd(reinterpret_cast<Counter*>(queue.counts + departure), Counter{1});
  const Counter at = atomicAdd(reinterpret_cast<Counter*>(queue.size), Counter{1});
  queue.particles[at] = {departure, static_cast<std::uint32_t>(place), table.from + i};
}

/// The columns of a message. Neighbouring threads have neighbouring places, so that they store and load whole lines.
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

static __global__ void pack_particles_kernel(const Particle* store, const QueuedParticle* queue,
                                             std::uint64_t queued, std::uint32_t departure,
                                             std::uint64_t count, std::byte* to) {
  if (thread_index() == 0) *reinterpret_cast<std::uint64_t*>(to) = count;  // two int32: the number, and 0
  const ColumnAccess columns(to, count);
  for (std::uint64_t i = thread_index(); i < queued; i += thread_count()) {
    const QueuedParticle particle = queue[i];
    if (particle.departure == departure) columns.put(store[particle.index], particle.place);
  }
}

static __global__ void unpack_particles_kernel(Particle* store, std::byte* message, std::uint64_t count,
                                               std::uint64_t* number) {
  if (thread_index() == 0) *number = *reinterpret_cast<const std::uint32_t*>(message);
  const ColumnAccess columns(message, count);
  for (std::uint64_t i = thread_index(); i < count; i += thread_count()) columns.get(store[i], i);
}

static __global__ void count_particles_kernel(const Particle* store, std::uint64_t from, std::uint64_t to,
                                              std::uint64_t seed, std::uint32_t* seen, std::uint64_t ids,
                                              Counter* first_altered) {
  for (std::uint64_t index = from + thread_index(); index < to; index += thread_count()) {
    const std::uint64_t* words = words_of(store, index);
    const std::uint64_t id = words[0];
    bool altered = id >= ids;
    for (unsigned word = 1; word < particle_words; ++word)
      altered = altered || words[word] != particle_word(seed, id, word);
    if (altered) atomicMin(first_altered, static_cast<Counter>(index));
    if (id < ids) vendor::atomic_add<vendor::Scope::device>(seen + id, std::uint32_t{1});
  }
}

}  // namespace linkscope::gpu
