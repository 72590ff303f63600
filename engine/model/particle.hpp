// What a particle holds: every byte follows from its number and the seed. One definition serves the host and the device.
#pragma once

#include <cstdint>

#include "model/packer.hpp"
#include "model/pattern.hpp"
#include "model/schedule.hpp"

namespace linkscope {

inline constexpr unsigned particle_words = sizeof(Particle) / sizeof(std::uint64_t);

/// Word `index` of particle `id`: the first is its number.
constexpr std::uint64_t particle_word(std::uint64_t seed, std::uint64_t id, unsigned index) {
  return index == 0 ? id : pattern_word(seed, id * particle_words + index);
}

/// At which bytes of a message of `count` particles its columns begin, each with an element of every particle: first
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

}  // namespace linkscope
