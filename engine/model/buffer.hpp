// Buffer: bytes somewhere, which can fill, poison and check themselves where they live.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/device.hpp"
#include "model/elements.hpp"
#include "model/traits.hpp"

namespace linkscope {

class Memory;

enum class Placement { bound, first_touch };

/// Where a buffer shall live and how it gets there (plan: endpoint).
struct Endpoint {
  DeviceId device;
  std::string memory;  ///< a name of the catalog's memories
  Placement placement = Placement::bound;
  DeviceId first_touch;  ///< equal to `device` unless the plan says otherwise
  /// What managed memory is advised to do (backend/gpu/memory/advice.hpp); empty: nothing.
  std::string advice{};  // NOLINT(readability-redundant-member-init): compilers let none but such be left out

  int rank = 0;         ///< the process that allocates it
  MemoryTraits traits;  ///< the memory's: a plan's endpoints get them from the catalog (run/binding.hpp)
  const Memory* kind = nullptr;  ///< the catalog's of that name, once the plan is bound

  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
};

/// One allocation. Its operations run on the device that holds it and have ended when they return.
/// All offsets and lengths are bytes; any length is allowed.
class Buffer {
 public:
  Buffer(Endpoint where, Bytes bytes) : where_(std::move(where)), bytes_(bytes) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] const Endpoint& where() const { return where_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// The address that transfers use.
  [[nodiscard]] virtual std::byte* data() const = 0;

  /// Writes pattern_word(seed, i) for every word i of [offset, offset + length); i counts from `offset`,
  /// so equal seeds give equal bytes at any offset. A tail shorter than a word holds the word's first bytes.
  virtual void fill(Bytes offset, Bytes length, std::uint64_t seed) = 0;
  /// Writes poison_byte over [offset, offset + length).
  virtual void poison(Bytes offset, Bytes length) = 0;
  /// First byte offset (from `offset`) at which [offset, offset + length) differs from the pattern.
  [[nodiscard]] virtual std::optional<Bytes> compare(Bytes offset, Bytes length,
                                                     std::uint64_t seed) const = 0;
  /// Writes the numbers of `elements` in round `seed`, as many as [offset, offset + length) holds; offset and length
  /// are whole elements. Throws Error{unsupported} where this memory has no such filling.
  virtual void fill_elements(Bytes /*offset*/, Bytes /*length*/, const Elements& /*elements*/,
                             std::uint64_t /*seed*/) {
    refuse_elements();
  }
  /// First byte offset (from `offset`) at which [offset, offset + length) differs from them.
  [[nodiscard]] virtual std::optional<Bytes> compare_elements(Bytes /*offset*/, Bytes /*length*/,
                                                              const Elements& /*elements*/,
                                                              std::uint64_t /*seed*/) const {
    refuse_elements();
  }
  /// Writes [offset, offset + length) back and out of the CPU caches; nothing for memory no CPU caches.
  virtual void flush(Bytes offset, Bytes length) = 0;
  /// What the system says of where the pages are, for the row's notes; empty when it is as asked.
  [[nodiscard]] virtual std::string residence() const { return {}; }

 private:
  [[noreturn]] void refuse_elements() const {
    throw Error(Fault::unsupported,
                where_.memory + " memory of " + where_.device.text() + " holds no elements to reduce");
  }

  Endpoint where_;
  Bytes bytes_;
};

/// Null of no buffer.
[[nodiscard]] inline std::byte* address_of(const Buffer* buffer) {
  return buffer == nullptr ? nullptr : buffer->data();
}

}  // namespace linkscope
