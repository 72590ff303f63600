// Making, queueing, packing, unpacking and checking particles with a GPU's kernels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/gpu/packing/grid_kernels.hpp"
#include "backend/gpu/vendor.hpp"
#include "model/packer.hpp"

namespace linkscope::gpu {

/// A particle of the queue: which of the departures it goes with, as which of its particles, and where it is stored.
struct QueuedParticle {
  std::uint32_t departure = 0;
  std::uint32_t place = 0;
  std::uint64_t index = 0;
};
static_assert(sizeof(QueuedParticle) == 16);

/// What one launch queues: of departure first + d the particles up to ends[d], counted from `from` on, each departure's
/// behind those of the one before.
struct DepartureTable {
  static constexpr unsigned most = 64;
  std::uint64_t from = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::array<std::uint64_t, most> ends{};
};

/// Where the queue is: all in memory of the GPU.
struct ParticleQueue {
  QueuedParticle* particles = nullptr;
  std::uint64_t* size = nullptr;    ///< of the queue
  std::uint64_t* counts = nullptr;  ///< by departure
};

void launch_make_particles(const KernelPlace& place, Particle* store, std::uint64_t first,
                           std::uint64_t count, std::uint64_t seed);
/// Pushes each with atomics: the order of the queue is that in which threads come.
void launch_fill_queue(gpuStream_t stream, const DepartureTable& table, const ParticleQueue& queue);
/// Packs those of the first `queued` of the queue that go with `departure`, `count` in all.
void launch_pack_particles(const KernelPlace& place, const Particle* store, const QueuedParticle* queue,
                           std::uint64_t queued, std::uint32_t departure, std::uint64_t count, std::byte* to);
/// Unpacks `count` particles of a message to `store`, and writes how many it says that it has to `number`.
void launch_unpack_particles(const KernelPlace& place, Particle* store, const std::byte* message,
                             std::uint64_t count, std::uint64_t* number);
/// Adds one to seen[id] for each particle of store[from, to). Lowers `first_altered` to the index of the first that is
/// not what its id says, or whose id is none below `ids`.
void launch_count_particles(const KernelPlace& place, const Particle* store, std::uint64_t from,
                            std::uint64_t to, std::uint64_t seed, std::uint32_t* seen, std::uint64_t ids,
                            std::uint64_t* first_altered);
/// Every kernel that these launch, to be loaded beforehand.
[[nodiscard]] std::vector<const void*> particle_kernels();

}  // namespace linkscope::gpu
