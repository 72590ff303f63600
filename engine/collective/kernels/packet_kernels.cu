// Packet kernels: packets between the members' buffers.
#include "collective/kernels/packet_port.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

/// The member's buffers. Beyond a piece's end zeros are read and nothing is written. Reads and writes are plain: what a
/// thread reads and writes here no other touches.
template <class Number, Layout layout>
class BufferEnds {
 public:
  __device__ explicit BufferEnds(const PacketWork& exchange) : work_(exchange) {}

  __device__ void begin(std::uint64_t /*call*/) {}
  __device__ void finish() {}

  __device__ std::uint64_t word(int piece, Extent at) const { return load<std::uint64_t>(piece, at); }
  __device__ gpu::vendor::WordPair pair(int piece, Extent at) const {
    return load<gpu::vendor::WordPair>(piece, at);
  }
  __device__ void put_word(int piece, Extent at, std::uint64_t word) { store(piece, at, word); }
  __device__ void put_pair(int piece, Extent at, const gpu::vendor::WordPair& pair) {
    store(piece, at, pair);
  }

 private:
  using Stored = typename Number::Stored;

  template <class Word>
  __device__ Word load(int piece, Extent at) const {
    const Pieces& pieces = work_.pieces;
    const Extent rest = pieces.rest(piece, pieces.source_step, at);
    const std::byte* from = work_.source + (pieces.source_step * static_cast<Extent>(piece) + at);
    Word word{};
    if constexpr (layout == Layout::vectors) {
      if (rest != 0) word = *reinterpret_cast<const Word*>(from);
    } else {
      for (int i = 0; i < per_word<Number>; ++i) {
        if (sizeof(Stored) * static_cast<Extent>(i) < rest)
          word |= placed<Number>(reinterpret_cast<const Stored*>(from)[i], i);
      }
    }
    return word;
  }
  template <class Word>
  __device__ void store(int piece, Extent at, const Word& word) const {
    const Pieces& pieces = work_.pieces;
    const Extent rest = pieces.rest(piece, pieces.destination_step, at);
    std::byte* to = work_.destination + (pieces.destination_step * static_cast<Extent>(piece) + at);
    if constexpr (layout == Layout::vectors) {
      if (rest != 0) *reinterpret_cast<Word*>(to) = word;
    } else {
      for (int i = 0; i < per_word<Number>; ++i) {
        if (sizeof(Stored) * static_cast<Extent>(i) < rest)
          reinterpret_cast<Stored*>(to)[i] = element_of<Number>(word, i);
      }
    }
  }

  const PacketWork& work_;
};

template <class Form, Trips trips, Combine combine, class Number>
const void* kernel_for(Layout layout) {
  if constexpr (Form::takes_elements) {
    if (layout == Layout::elements)
      return reinterpret_cast<const void*>(
          &exchange_packets<Form, trips, combine, Number, BufferEnds<Number, Layout::elements>>);
  }
  return reinterpret_cast<const void*>(
      &exchange_packets<Form, trips, combine, Number, BufferEnds<Number, Layout::vectors>>);
}

template <class Form, Trips trips>
const void* adding(ElementType type, Layout layout) {
  return by_number(
      type, [&](auto number) { return kernel_for<Form, trips, Combine::sum, decltype(number)>(layout); });
}

/// Copies know elements by their length alone.
template <class Form>
const void* copying(ElementType type, Layout layout) {
  if (element_bytes(type) == sizeof(std::uint32_t) || layout == Layout::vectors)
    return kernel_for<Form, Trips::one, Combine::copy, Int32>(layout);
  return kernel_for<Form, Trips::one, Combine::copy, Float16>(layout);
}

template <class Form>
const void* kernel_of(Trips trips, Combine combine, ElementType type, Layout layout) {
  if (combine == Combine::copy) return copying<Form>(type, layout);
  return trips == Trips::one ? adding<Form, Trips::one>(type, layout)
                             : adding<Form, Trips::two>(type, layout);
}

template <class Form>
PacketSize size_of() {
  return {Form::threads, Form::load_bytes, Form::packet_bytes};
}

}  // namespace

PacketSize packet_size(Format format) {
  return format == Format::pairs ? size_of<PairFormat>() : size_of<LineFormat>();
}

const void* packet_kernel(Format format, Trips trips, Combine combine, ElementType type, Layout layout) {
  return format == Format::pairs ? kernel_of<PairFormat>(trips, combine, type, layout)
                                 : kernel_of<LineFormat>(trips, combine, type, layout);
}

}  // namespace linkscope::direct
