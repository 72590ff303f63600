// Pack and Unpack: what one process tells another, as bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace linkscope {

/// Writes values one after another. Both processes run the same engine on machines of one byte order.
class Pack {
 public:
  /// Writes the bytes of a plain value: a number, an enumerator, a struct that holds no pointers.
  template <class Value>
  Pack& put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  /// Writes the text's length and its bytes.
  Pack& text(std::string_view text) {
    put<std::uint64_t>(text.size());
    bytes_.append(text);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what Pack wrote, in the same order. Everything read comes from another process and is checked: each function
/// throws Error{broken} where the bytes end too early.
class Unpack {
 public:
  /// `bytes` outlives it. `refusal` is the start of the error, as "rank 2 sent no handles".
  Unpack(std::string_view bytes, std::string refusal) : left_(bytes), refusal_(std::move(refusal)) {}

  template <class Value>
  [[nodiscard]] Value get() {
    static_assert(std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value>);
    Value value{};
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the size is given
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::string text() { return std::string(take(get<std::uint64_t>())); }
  /// Returns a number from `low` to `high`. Throws Error{broken} for any other.
  [[nodiscard]] int number(int low, int high = std::numeric_limits<int>::max()) {
    const auto value = get<std::int32_t>();
    if (value < low || value > high) refuse();
    return value;
  }
  /// Returns how many things follow, of at least one byte each: no count makes the caller allocate more than came.
  [[nodiscard]] std::size_t count() {
    const auto things = get<std::uint64_t>();
    if (things > left_.size()) refuse();
    return things;
  }
  /// Throws Error{broken} where bytes are left over.
  void end() const {
    if (!left_.empty()) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Fault::broken, refusal_ + ": do all processes run the same engine?");
  }
  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) refuse();
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  std::string_view left_;
  std::string refusal_;
};

}  // namespace linkscope
