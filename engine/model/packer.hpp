// Packer: what a rank's device does between messages: packs and unpacks, and fills and checks what they carry. The host
// and the device have one definition of a particle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/pattern.hpp"
#include "model/schedule.hpp"

namespace linkscope {

/// `rows` rows of `words` 8-byte words from one pitch to another (pitches in bytes): one launch. A thread copies a row,
/// and where there is one row a word.
struct PackedRows {
  std::byte* to = nullptr;
  Bytes to_pitch = 0;
  const std::byte* from = nullptr;
  Bytes from_pitch = 0;
  std::uint64_t words = 0;
  std::uint64_t rows = 0;
};

/// A box of a rank's field: word (row, column) holds pattern_word(seed, first + row * step + column), `first` and `step`
/// counting over the whole grid, so that all ranks agree on every value.
struct GridBox {
  std::byte* base = nullptr;
  Bytes pitch = 0;
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
  std::uint64_t first = 0;
  std::uint64_t step = 0;
};

/// A word of a GridBox that is not what it must be.
struct WrongWord {
  std::uint64_t column = 0;
  std::uint64_t row = 0;
};

/// A particle as a rank stores it, 136 bytes, which a message has column by column (6 int32, 12 double, 16 char). Every
/// byte of particle `id` follows from `id` and the seed (particle_word()); `id` stands in whole[0..1].
struct Particle {
  std::int32_t whole[6];
  double real[12];
  char text[16];
};
static_assert(sizeof(Particle) == particle_bytes);
inline constexpr unsigned particle_words = sizeof(Particle) / sizeof(std::uint64_t);

/// Word `index` of particle `id`: the first is its number.
constexpr std::uint64_t particle_word(std::uint64_t seed, std::uint64_t id, unsigned index) {
  return index == 0 ? id : pattern_word(seed, id * particle_words + index);
}

/// The bytes of a message of `count` particles at which its columns begin, each with an element of every particle: first
/// those of their int32, then of their double, then of their char.
struct MessageColumns {
  static constexpr unsigned wholes = sizeof(Particle::whole) / sizeof(std::int32_t);
  static constexpr unsigned reals = sizeof(Particle::real) / sizeof(double);
  static constexpr unsigned texts = sizeof(Particle::text);

  constexpr explicit MessageColumns(std::uint64_t count)
      : real(whole + count * wholes * sizeof(std::int32_t)), text(real + count * reals * sizeof(double)) {}

  Bytes whole = particle_header_bytes;
  Bytes real;
  Bytes text;
};

/// Says how many particles go to one neighbour in a pass.
struct Departure {
  int peer = 0;
  std::uint64_t count = 0;
};

/// Calls are made in order, by one thread at a time: the rank's, or while that is idle the one that fills and checks. Calls
/// that enqueue work on a device return before it is done, and synchronise() waits for it. Each throws Error{broken} with
/// the vendor's words.
class Packer {
 public:
  virtual ~Packer() = default;

  /// Copies each by one launch.
  virtual void copy(const std::vector<PackedRows>& rows) = 0;
  virtual void synchronise() = 0;
  /// Says whether all that was enqueued is done.
  [[nodiscard]] virtual bool idle() = 0;
  /// Moves a whole message, as the device's copy engine does (memcpy, cudaMemcpyAsync).
  virtual void move(std::byte* to, const std::byte* from, Bytes bytes) = 0;

  virtual void fill(const GridBox& box, std::uint64_t seed) = 0;
  virtual void poison(const GridBox& box) = 0;
  /// Returns the first of its words, row by row, that differs; waits for all work before.
  [[nodiscard]] virtual std::optional<WrongWord> compare(const GridBox& box, std::uint64_t seed) = 0;

  /// Returns the 8-byte word at `at`; waits for all work before.
  [[nodiscard]] virtual std::uint64_t read_word(const std::byte* at) = 0;

  /// Makes room for a message in the memory of the rank's buffers, by the call that an application makes for that memory
  /// (malloc, cudaMalloc, ...). Throws Error{no_memory}.
  [[nodiscard]] virtual std::byte* allocate(Bytes bytes) = 0;
  virtual void release(std::byte* at) = 0;

  /// Writes particles with the ids [first, first + count) to `store`.
  virtual void make_particles(Particle* store, std::uint64_t first, std::uint64_t count,
                              std::uint64_t seed) = 0;
  /// Pushes (peer, index) of each particle of store[from, from + all departures) to a queue with atomics, as the
  /// application's kernel does. Those of the first departure are the first in the store.
  virtual void fill_queue(std::uint64_t from, const std::vector<Departure>& departures) = 0;
  /// Packs the particles of the queue that go to `departure`'s peer into a message at `to`: their number and 0 as int32,
  /// then column by column. Returns their number, and packs none where it is not departure's count.
  [[nodiscard]] virtual std::uint64_t pack_particles(const Particle* store, const Departure& departure,
                                                     std::byte* to) = 0;
  /// Appends the `count` particles of a message to `store` at `at`; the number that the message itself says.
  [[nodiscard]] virtual std::uint64_t unpack_particles(Particle* store, std::uint64_t at,
                                                       const std::byte* message, std::uint64_t count) = 0;
  /// Adds one to seen[id] for each particle of store[from, to). Returns the index of the first one that is altered.
  [[nodiscard]] virtual std::optional<std::uint64_t> count_particles(const Particle* store,
                                                                     std::uint64_t from, std::uint64_t to,
                                                                     std::uint64_t seed,
                                                                     std::vector<std::int32_t>& seen) = 0;
};

/// Makes the packer of a rank whose memory is on a GPU; the backend that knows those GPUs has it. `state`: where the rank's
/// fields or particles are; `buffers`: of which memory its messages are. Throws Error{unsupported}.
using MakePacker = std::function<std::unique_ptr<Packer>(const Endpoint& state, const Endpoint& buffers)>;

}  // namespace linkscope
