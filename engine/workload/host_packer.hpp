// HostPacker: a CPU thread packs, fills and checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backend/host/allocation.hpp"
#include "base/error.hpp"
#include "model/packer.hpp"
#include "model/pattern.hpp"

namespace linkscope::workload {

class HostPacker : public Packer {
 public:
  /// `buffers`: the memory that messages of particles are allocated in.
  explicit HostPacker(Endpoint buffers) : buffers_(std::move(buffers)) {}

  ~HostPacker() override {
    for (auto& [at, allocation] : blocks_) static_cast<void>(allocation->give_back(std::array{at}));
  }

  void copy(const std::vector<PackedRows>& rows) override {
    for (const PackedRows& one : rows) {
      const Bytes bytes = one.words * word_bytes;
      for (std::uint64_t index = 0; index < one.rows; ++index)
        std::memcpy(one.to + index * one.to_pitch, one.from + index * one.from_pitch, bytes);
    }
  }
  void synchronise() override {}
  [[nodiscard]] bool idle() override { return true; }
  void move(std::byte* to, const std::byte* from, Bytes bytes) override { std::memcpy(to, from, bytes); }

  void fill(const GridBox& box, std::uint64_t seed) override {
    for (std::uint64_t index = 0; index < box.rows; ++index) {
      auto* const words = reinterpret_cast<std::uint64_t*>(row(box, index));
      const std::uint64_t first = box.first + index * box.step;
      for (std::uint64_t column = 0; column < box.columns; ++column)
        words[column] = pattern_word(seed, first + column);
    }
  }

  void poison(const GridBox& box) override {
    for (std::uint64_t index = 0; index < box.rows; ++index)
      std::memset(row(box, index), poison_byte, box.columns * word_bytes);
  }

  [[nodiscard]] std::optional<WrongWord> compare(const GridBox& box, std::uint64_t seed) override {
    for (std::uint64_t index = 0; index < box.rows; ++index) {
      const auto* const words = reinterpret_cast<const std::uint64_t*>(row(box, index));
      const std::uint64_t first = box.first + index * box.step;
      for (std::uint64_t column = 0; column < box.columns; ++column) {
        if (words[column] != pattern_word(seed, first + column)) return WrongWord{column, index};
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint64_t read_word(const std::byte* at) override {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  [[nodiscard]] std::byte* allocate(Bytes bytes) override {
    if (is_plain()) {
      auto* const at = static_cast<std::byte*>(std::malloc(bytes));
      if (at == nullptr)
        throw Error(Fault::no_memory, "malloc gives no " + format_bytes(bytes) + " for a message");
      return at;
    }
    if (buffers_.traits.shareable)
      throw Error(Fault::unsupported, buffers_.memory + " memory is not allocated message by message");
    std::array<host::Block, 1> block{};
    auto allocation = host::allocate_on_host(buffers_.traits, {bytes, 1}, buffers_.device.index);
    if (const int code = allocation->take(block); code != 0) throw allocation->failure(code);
    blocks_.emplace(block[0], std::move(allocation));
    return block[0];
  }

  void release(std::byte* at) override {
    if (is_plain()) {
      std::free(at);
      return;
    }
    const auto found = blocks_.find(at);
    static_cast<void>(found->second->give_back(std::array{at}));
    blocks_.erase(found);
  }

  void make_particles(Particle* store, std::uint64_t first, std::uint64_t count,
                      std::uint64_t seed) override {
    auto* words = reinterpret_cast<std::uint64_t*>(store);
    for (std::uint64_t id = first; id < first + count; ++id) {
      for (unsigned index = 0; index < particle_words; ++index) *words++ = particle_word(seed, id, index);
    }
  }

  void fill_queue(std::uint64_t from, const std::vector<Departure>& departures) override {
    queue_.clear();
    for (const Departure& departure : departures) {
      for (std::uint64_t i = 0; i < departure.count; ++i) queue_.push_back({departure.peer, from++});
    }
  }

  [[nodiscard]] std::uint64_t pack_particles(const Particle* store, const Departure& departure,
                                             std::byte* to) override {
    const auto leaves = [&](const Leaving& one) { return one.peer == departure.peer; };
    const auto count = static_cast<std::uint64_t>(std::count_if(queue_.begin(), queue_.end(), leaves));
    if (count != departure.count) return count;
    const std::array<std::int32_t, 2> header{static_cast<std::int32_t>(count), 0};
    std::memcpy(to, header.data(), sizeof header);
    std::uint64_t place = 0;
    for (const Leaving& one : queue_) {
      if (!leaves(one)) continue;
      const auto* const particle = reinterpret_cast<const std::byte*>(store + one.index);
      for_each_column(count, [&](Bytes column, Bytes value, Bytes bytes) {
        std::memcpy(to + column + place * bytes, particle + value, bytes);
      });
      ++place;
    }
    return count;
  }

  [[nodiscard]] std::uint64_t unpack_particles(Particle* store, std::uint64_t at, const std::byte* message,
                                               std::uint64_t count) override {
    std::int32_t told = 0;
    std::memcpy(&told, message, sizeof told);
    for (std::uint64_t place = 0; place < count; ++place) {
      auto* const particle = reinterpret_cast<std::byte*>(store + at + place);
      for_each_column(count, [&](Bytes column, Bytes value, Bytes bytes) {
        std::memcpy(particle + value, message + column + place * bytes, bytes);
      });
    }
    return static_cast<std::uint32_t>(told);
  }

  [[nodiscard]] std::optional<std::uint64_t> count_particles(const Particle* store, std::uint64_t from,
                                                             std::uint64_t to, std::uint64_t seed,
                                                             std::vector<std::int32_t>& seen) override {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(store);
    for (std::uint64_t index = from; index < to; ++index) {
      const std::uint64_t* const own = words + index * particle_words;
      if (own[0] >= seen.size()) return index;
      for (unsigned i = 1; i < particle_words; ++i) {
        if (own[i] != particle_word(seed, own[0], i)) return index;
      }
      ++seen[own[0]];
    }
    return std::nullopt;
  }

 private:
  /// A particle that is to leave.
  struct Leaving {
    int peer = 0;
    std::uint64_t index = 0;
  };

  [[nodiscard]] static std::byte* row(const GridBox& box, std::uint64_t index) {
    return box.base + index * box.pitch;
  }

  /// Calls `with(column, value, bytes)` for each value of a particle: where its column begins in a message of `count`, and
  /// where it is in the particle.
  template <class With>
  static void for_each_column(std::uint64_t count, const With& with) {
    const MessageColumns columns(count);
    for (Bytes i = 0; i < MessageColumns::wholes; ++i)
      with(columns.whole + i * count * sizeof(std::int32_t),
           offsetof(Particle, whole) + i * sizeof(std::int32_t), sizeof(std::int32_t));
    for (Bytes i = 0; i < MessageColumns::reals; ++i)
      with(columns.real + i * count * sizeof(double), offsetof(Particle, real) + i * sizeof(double),
           sizeof(double));
    for (Bytes i = 0; i < MessageColumns::texts; ++i)
      with(columns.text + i * count, offsetof(Particle, text) + i, 1);
  }

  /// Says whether an application allocates such memory by malloc.
  [[nodiscard]] bool is_plain() const { return buffers_.traits.is_private() && !buffers_.traits.huge_pages; }

  Endpoint buffers_;
  std::map<std::byte*, std::unique_ptr<host::Allocation>> blocks_;  ///< of other memory than malloc's
  std::vector<Leaving> queue_;
};

}  // namespace linkscope::workload
