#include "backend/host/host_buffer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backend/host/cache_flush.hpp"
#include "backend/host/word_loops.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::host {

namespace {

constexpr Bytes block_words =
    512;  // compared as one, then searched if it differs: the loop has no early exit

/// Calls `work` with a word as wide as one element.
template <class Work>
auto of_width(const Elements& elements, const Work& work) {
  return element_bytes(elements.type) == 4 ? work(std::uint32_t{}) : work(std::uint16_t{});
}

Elements advanced(Elements elements, Bytes by) {
  elements.first += by / element_bytes(elements.type);
  return elements;
}

template <class Word>
Word element_word(const Elements& elements, std::uint64_t seed, std::uint64_t index) {
  return static_cast<Word>(element_bits(elements.type, element_at(elements, seed, index)));
}

template <class Word>
void write_elements(Word /*width*/, std::byte* at, Bytes length, const Elements& elements,
                    std::uint64_t seed) {
  for (std::uint64_t i = 0; i * sizeof(Word) < length; ++i) {
    const Word word = element_word<Word>(elements, seed, i);
    std::memcpy(at + i * sizeof word, &word, sizeof word);
  }
}

template <class Word>
std::optional<Bytes> find_wrong_element(Word /*width*/, const std::byte* at, Bytes length,
                                        const Elements& elements, std::uint64_t seed) {
  for (std::uint64_t i = 0; i * sizeof(Word) < length; ++i) {
    const Word word = element_word<Word>(elements, seed, i);
    const auto* const expected = reinterpret_cast<const std::byte*>(&word);
    const std::byte* const held = at + i * sizeof word;
    const std::byte* const wrong = std::mismatch(held, held + sizeof word, expected).first;
    if (wrong != held + sizeof word) return static_cast<Bytes>(wrong - at);
  }
  return std::nullopt;
}

}  // namespace

void fill_pattern(std::byte* at, Bytes length, std::uint64_t seed, std::uint64_t first_word) {
  widest_fill()(at, length, seed, first_word);
}

std::optional<Bytes> find_mismatch(const std::byte* at, Bytes length, std::uint64_t seed,
                                   std::uint64_t first_word) {
  const std::uint64_t words = length / word_bytes;
  for (std::uint64_t begin = 0; begin * word_bytes < length; begin += block_words) {
    const std::uint64_t count = std::min(block_words, words - begin);
    std::uint64_t difference = 0;
    for (std::uint64_t i = begin; i < begin + count; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, at + i * word_bytes, word_bytes);
      difference |= word ^ pattern_word(seed, first_word + i);
    }
    const Bytes from = begin * word_bytes;
    const Bytes size =
        count < block_words ? length - from : count * word_bytes;  // the last block has the tail
    if (difference == 0 && size == count * word_bytes) continue;
    std::array<std::byte, (block_words + 1) * word_bytes> expected{};
    fill_pattern(expected.data(), size, seed, first_word + begin);
    const auto differs = std::mismatch(at + from, at + from + size, expected.begin());
    if (differs.first != at + from + size) return static_cast<Bytes>(differs.first - at);
  }
  return std::nullopt;
}

HostBuffer::HostBuffer(Endpoint where, Bytes bytes, std::byte* address, Deleter deleter, WorkerPool& workers)
    : Buffer(std::move(where), bytes), address_(address), deleter_(std::move(deleter)), workers_(workers) {}

HostBuffer::~HostBuffer() {
  if (deleter_) deleter_(address_);
}

void HostBuffer::fill(Bytes offset, Bytes length, std::uint64_t seed) {
  std::byte* const at = address_ + offset;
  workers_.share(length,
                 [=](Bytes from, Bytes size) { fill_pattern(at + from, size, seed, from / word_bytes); });
}

void HostBuffer::poison(Bytes offset, Bytes length) {
  std::byte* const at = address_ + offset;
  workers_.share(length, [=](Bytes from, Bytes size) { std::memset(at + from, poison_byte, size); });
}

std::optional<Bytes> HostBuffer::compare(Bytes offset, Bytes length, std::uint64_t seed) const {
  const std::byte* const at = address_ + offset;
  return first_found(length, [=](Bytes from, Bytes size) {
    return find_mismatch(at + from, size, seed, from / word_bytes);
  });
}

/// The lowest offset that `search` finds in any of the pieces it is run on, counted from the first one's start.
std::optional<Bytes> HostBuffer::first_found(Bytes length, const Search& search) const {
  std::atomic<Bytes> first_bad{length};
  workers_.share(length, [&](Bytes from, Bytes size) {
    const auto bad = search(from, size);
    if (!bad) return;
    Bytes known = first_bad.load();
    while (from + *bad < known && !first_bad.compare_exchange_weak(known, from + *bad)) {
    }
  });
  return first_bad == length ? std::nullopt : std::optional<Bytes>(first_bad);
}

void HostBuffer::fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) {
  std::byte* const at = address_ + offset;
  workers_.share(length, [=](Bytes from, Bytes size) {
    of_width(elements,
             [=](auto word) { write_elements(word, at + from, size, advanced(elements, from), seed); });
  });
}

std::optional<Bytes> HostBuffer::compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                  std::uint64_t seed) const {
  const std::byte* const at = address_ + offset;
  return first_found(length, [=](Bytes from, Bytes size) {
    return of_width(elements, [=](auto word) {
      return find_wrong_element(word, at + from, size, advanced(elements, from), seed);
    });
  });
}

void HostBuffer::flush(Bytes offset, Bytes length) {
  if (const Support support = can_flush_caches(); !support) throw Error(Fault::unsupported, support.reason());
  const std::byte* const at = address_ + offset;
  workers_.share(length, [=](Bytes from, Bytes size) { flush_caches(at + from, size); });
}

}  // namespace linkscope::host
