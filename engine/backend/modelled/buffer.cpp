#include "backend/modelled/buffer.hpp"

#include <algorithm>
#include <cstring>

#include "model/pattern.hpp"

namespace linkscope::modelled {
ModelledBuffer::ModelledBuffer(Endpoint where, Bytes bytes)
    : Buffer(std::move(where), bytes), real_(std::min(bytes, window)) {}

Bytes ModelledBuffer::real_part(Bytes offset, Bytes length) const {
  return offset >= real_.size() ? 0 : std::min<Bytes>(length, real_.size() - offset);
}

void ModelledBuffer::fill(Bytes offset, Bytes length, std::uint64_t seed) {
  const Bytes real = real_part(offset, length);
  for (Bytes at = 0; at < real; at += word_bytes) {
    const std::uint64_t word = pattern_word(seed, at / word_bytes);
    std::memcpy(&real_[offset + at], &word, std::min(word_bytes, real - at));
  }
}

void ModelledBuffer::poison(Bytes offset, Bytes length) {
  const Bytes real = real_part(offset, length);
  if (real > 0) std::memset(&real_[offset], poison_byte, real);
}

std::optional<Bytes> ModelledBuffer::compare(Bytes offset, Bytes length, std::uint64_t seed) const {
  const Bytes real = real_part(offset, length);
  for (Bytes at = 0; at < real; at += word_bytes) {
    const std::uint64_t expected = pattern_word(seed, at / word_bytes);
    const Bytes here = std::min(word_bytes, real - at);
    if (std::memcmp(&real_[offset + at], &expected, here) == 0) continue;
    Bytes byte = 0;
    while (std::memcmp(&real_[offset + at + byte], reinterpret_cast<const std::byte*>(&expected) + byte, 1) ==
           0) {
      ++byte;
    }
    return at + byte;
  }
  return std::nullopt;
}

void ModelledBuffer::fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) {
  const Bytes real = real_part(offset, length);
  const Bytes width = element_bytes(elements.type);
  for (Bytes at = 0; at + width <= real; at += width) {
    const std::uint32_t bits = element_bits(elements.type, element_at(elements, seed, at / width));
    std::memcpy(&real_[offset + at], &bits, width);  // its low bytes come first
  }
}

std::optional<Bytes> ModelledBuffer::compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                      std::uint64_t seed) const {
  const Bytes real = real_part(offset, length);
  const Bytes width = element_bytes(elements.type);
  for (Bytes at = 0; at + width <= real; at += width) {
    const std::uint32_t bits = element_bits(elements.type, element_at(elements, seed, at / width));
    if (std::memcmp(&real_[offset + at], &bits, width) != 0) return at;
  }
  return std::nullopt;
}

}  // namespace linkscope::modelled
