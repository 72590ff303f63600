// ModelledBuffer: a buffer of a described node, real at its beginning.
#pragma once

#include <cstddef>
#include <vector>

#include "model/buffer.hpp"

namespace linkscope::modelled {

/// By what a destination differs that a described node has spoilt.
inline constexpr std::byte flipped_bit{1};

/// A described node may hold buffers of many GiB that this machine has no room for. So the first
/// min(bytes(), window) bytes are real host memory, filled, copied and compared like any other; the bytes
/// behind them exist on the virtual clock alone: filling them does nothing and comparing them finds nothing.
class ModelledBuffer : public Buffer {
 public:
  static constexpr Bytes window = 64 * KiB;

  ModelledBuffer(Endpoint where, Bytes bytes);

  /// Good for the first min(bytes(), window) bytes.
  [[nodiscard]] std::byte* data() const override { return real_.data(); }
  void fill(Bytes offset, Bytes length, std::uint64_t seed) override;
  void poison(Bytes offset, Bytes length) override;
  [[nodiscard]] std::optional<Bytes> compare(Bytes offset, Bytes length, std::uint64_t seed) const override;
  void fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) override;
  [[nodiscard]] std::optional<Bytes> compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                      std::uint64_t seed) const override;
  /// Nothing: no cache is modelled.
  void flush(Bytes /*offset*/, Bytes /*length*/) override {}

 private:
  /// How many bytes of [offset, offset + length) are real.
  [[nodiscard]] Bytes real_part(Bytes offset, Bytes length) const;

  mutable std::vector<std::byte> real_;  ///< mutable: data() gives write access through a const buffer
};

}  // namespace linkscope::modelled
