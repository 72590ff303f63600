// What a particle holds: every byte follows from its number and the seed. One definition serves the host and the device.
#pragma once

#include <cstdint>

#include "model/packer.hpp"
#include "model/pattern.hpp"

namespace linkscope {

inline constexpr unsigned particle_words = sizeof(Particle) / sizeof(std::uint64_t);

/// Word `index` of particle `id`: the first is its number.
constexpr std::uint64_t particle_word(std::uint64_t seed, std::uint64_t id, unsigned index) {
  return index == 0 ? id : pattern_word(seed, id * particle_words + index);
}

}  // namespace linkscope
