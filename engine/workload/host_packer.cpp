#include "workload/host_packer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "model/particle.hpp"
#include "model/pattern.hpp"

namespace linkscope::workload {
namespace {

std::byte* row(const GridBox& box, std::uint64_t index) { return box.base + index * box.pitch; }

/// Calls `with(column, value, bytes)` for each value of a particle: where its column begins in a message of `count`, and
/// where it is in the particle.
template <class With>
void for_each_column(std::uint64_t count, const With& with) {
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

bool is_plain(const Endpoint& where) { return where.traits.is_private() && !where.traits.huge_pages; }

}  // namespace

HostPacker::HostPacker(Endpoint buffers) : buffers_(std::move(buffers)) {}

HostPacker::~HostPacker() {
  for (auto& [at, allocation] : blocks_) static_cast<void>(allocation->give_back(std::array{at}));
}

void HostPacker::copy(const std::vector<PackedRows>& rows) {
  for (const PackedRows& one : rows) {
    const Bytes bytes = one.words * word_bytes;
    for (std::uint64_t index = 0; index < one.rows; ++index)
      std::memcpy(one.to + index * one.to_pitch, one.from + index * one.from_pitch, bytes);
  }
}

void HostPacker::fill(const GridBox& box, std::uint64_t seed) {
  for (std::uint64_t index = 0; index < box.rows; ++index) {
    auto* const words = reinterpret_cast<std::uint64_t*>(row(box, index));
    const std::uint64_t first = box.first + index * box.step;
    for (std::uint64_t column = 0; column < box.columns; ++column)
      words[column] = pattern_word(seed, first + column);
  }
}

void HostPacker::poison(const GridBox& box) {
  for (std::uint64_t index = 0; index < box.rows; ++index)
    std::memset(row(box, index), poison_byte, box.columns * word_bytes);
}

std::optional<WrongWord> HostPacker::compare(const GridBox& box, std::uint64_t seed) {
  for (std::uint64_t index = 0; index < box.rows; ++index) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(row(box, index));
    const std::uint64_t first = box.first + index * box.step;
    for (std::uint64_t column = 0; column < box.columns; ++column) {
      if (words[column] != pattern_word(seed, first + column)) return WrongWord{column, index};
    }
  }
  return std::nullopt;
}

std::uint64_t HostPacker::read_word(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::byte* HostPacker::allocate(Bytes bytes) {
  if (is_plain(buffers_)) {
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

void HostPacker::release(std::byte* at) {
  if (is_plain(buffers_)) {
    std::free(at);
    return;
  }
  const auto found = blocks_.find(at);
  static_cast<void>(found->second->give_back(std::array{at}));
  blocks_.erase(found);
}

void HostPacker::make_particles(Particle* store, std::uint64_t first, std::uint64_t count,
                                std::uint64_t seed) {
  auto* words = reinterpret_cast<std::uint64_t*>(store);
  for (std::uint64_t id = first; id < first + count; ++id) {
    for (unsigned index = 0; index < particle_words; ++index) *words++ = particle_word(seed, id, index);
  }
}

void HostPacker::fill_queue(std::uint64_t from, const std::vector<Departure>& departures) {
  queue_.clear();
  for (const Departure& departure : departures) {
    for (std::uint64_t i = 0; i < departure.count; ++i) queue_.push_back({departure.peer, from++});
  }
}

std::uint64_t HostPacker::pack_particles(const Particle* store, const Departure& departure, std::byte* to) {
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

std::uint64_t HostPacker::unpack_particles(Particle* store, std::uint64_t at, const std::byte* message,
                                           std::uint64_t count) {
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

std::optional<std::uint64_t> HostPacker::count_particles(const Particle* store, std::uint64_t from,
                                                         std::uint64_t to, std::uint64_t seed,
                                                         std::vector<std::int32_t>& seen) {
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

}  // namespace linkscope::workload
