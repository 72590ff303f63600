// Payloads: several words as one message, and what came from another process, checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pack.hpp"

namespace linkscope {

/// Returns what `read` makes of all of `payload`; none where it was not packed so.
template <class Read>
auto unpacked(const std::string& payload, const Read& read)
    -> std::optional<decltype(read(std::declval<Unpack&>()))> {
  try {
    Unpack in(payload, "a payload");
    auto value = read(in);
    in.end();
    return value;
  } catch (const Error&) {
    return std::nullopt;
  }
}

inline std::string pack(const std::vector<std::string>& words) {
  Pack out;
  for (const std::string& word : words) out.text(word);
  return out.bytes();
}

/// None where `payload` does not hold exactly `count` words.
inline std::optional<std::vector<std::string>> unpack(const std::string& payload, std::size_t count) {
  return unpacked(payload, [&](Unpack& in) {
    std::vector<std::string> words(count);
    for (std::string& word : words) word = in.text();
    return words;
  });
}

}  // namespace linkscope
