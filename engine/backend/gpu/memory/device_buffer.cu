// Patterns by vectors of 16 bytes where the address allows, by bytes where it does not; elements one by one.
#include "backend/gpu/memory/device_buffer.hpp"

#include <string>

#include "backend/gpu/memory/service_kernels.hpp"

namespace linkscope::gpu {
namespace {

/// A range holds whole vectors first, then the bytes behind them; each is an item.
struct PatternItems {
  std::byte* address;
  Bytes length;
  std::uint64_t seed;
  std::uint64_t vectors;

  PatternItems(std::byte* at, Bytes bytes, std::uint64_t pattern_seed)
      : address(at),
        length(bytes),
        seed(pattern_seed),
        vectors(reinterpret_cast<std::uintptr_t>(at) % vector_bytes == 0 ? bytes / vector_bytes : 0) {}

  [[nodiscard]] std::uint64_t count() const { return length - vectors * (vector_bytes - 1); }
  [[nodiscard]] __device__ Vector* vector(std::uint64_t item) const {
    return reinterpret_cast<Vector*>(address) + item;
  }
  /// The offset of an item behind the vectors.
  [[nodiscard]] __device__ Bytes offset(std::uint64_t item) const {
    return item + vectors * (vector_bytes - 1);
  }
  [[nodiscard]] __device__ std::uint64_t low(std::uint64_t item) const {
    return pattern_word(seed, 2 * item);
  }
  [[nodiscard]] __device__ std::uint64_t high(std::uint64_t item) const {
    return pattern_word(seed, 2 * item + 1);
  }
};

struct FillPattern {
  PatternItems items;

  __device__ void operator()(std::uint64_t i) const {
    if (i < items.vectors) {
      *items.vector(i) = vector_of(items.low(i), items.high(i));
    } else {
      items.address[items.offset(i)] = static_cast<std::byte>(pattern_byte(items.seed, items.offset(i)));
    }
  }
};

struct ComparePattern {
  PatternItems items;

  __device__ Bytes operator()(std::uint64_t i) const {
    if (i < items.vectors) {
      const Bytes within = first_difference(*items.vector(i), items.low(i), items.high(i));
      return within == vector_bytes ? no_bad : i * vector_bytes + within;
    }
    const Bytes offset = items.offset(i);
    const auto expected = static_cast<std::byte>(pattern_byte(items.seed, offset));
    return items.address[offset] == expected ? no_bad : offset;
  }
};

/// `Word`: the unsigned whole number as wide as an element.
template <class Word>
struct FillElements {
  Word* address;
  Elements elements;
  std::uint64_t seed;

  [[nodiscard]] __device__ Word word(std::uint64_t i) const {
    return static_cast<Word>(element_bits(elements.type, element_at(elements, seed, i)));
  }
  __device__ void operator()(std::uint64_t i) const { address[i] = word(i); }
};

template <class Word>
struct CompareElements {
  FillElements<Word> expected;

  __device__ Bytes operator()(std::uint64_t i) const {
    const Bytes within = first_difference(expected.address[i], expected.word(i));
    return within < sizeof(Word) ? i * sizeof(Word) + within : no_bad;
  }
};

/// Calls `work` with the elements' words, of 2 or of 4 bytes.
template <class Work>
auto with_words(std::byte* address, Bytes length, const Elements& elements, std::uint64_t seed,
                const Work& work) {
  const unsigned width = element_bytes(elements.type);
  if (reinterpret_cast<std::uintptr_t>(address) % width != 0 || length % width != 0) {
    throw Error(Fault::bad_input, "elements of " + std::to_string(width) +
                                      " B asked for at an address or over a length that is not a multiple "
                                      "of that");
  }
  if (width == sizeof(std::uint16_t))
    return work(FillElements<std::uint16_t>{reinterpret_cast<std::uint16_t*>(address), elements, seed});
  return work(FillElements<std::uint32_t>{reinterpret_cast<std::uint32_t*>(address), elements, seed});
}

}  // namespace

void DeviceBuffer::fill(Bytes offset, Bytes length, std::uint64_t seed) {
  const PatternItems items(address_ + offset, length, seed);
  visit_all(*context_, keeper_, items.count(), FillPattern{items});
}

void DeviceBuffer::poison(Bytes offset, Bytes length) {
  const ServiceTurn turn = context_->service_turn(keeper_);
  LINKSCOPE_CHECK(gpuMemsetAsync(address_ + offset, poison_byte, length, turn.stream()));
  turn.wait();
}

std::optional<Bytes> DeviceBuffer::compare(Bytes offset, Bytes length, std::uint64_t seed) const {
  const PatternItems items(address_ + offset, length, seed);
  return first_bad(*context_, keeper_, items.count(), ComparePattern{items});
}

void DeviceBuffer::fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) {
  with_words(address_ + offset, length, elements, seed,
             [&](const auto& fill) { visit_all(*context_, keeper_, length / sizeof *fill.address, fill); });
}

std::optional<Bytes> DeviceBuffer::compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                    std::uint64_t seed) const {
  const auto check = [&]<class Word>(const FillElements<Word>& fill) {
    return first_bad(*context_, keeper_, length / sizeof(Word), CompareElements<Word>{fill});
  };
  return with_words(address_ + offset, length, elements, seed, check);
}

}  // namespace linkscope::gpu
