// Each word behind its length.
#include "comm/payloads.hpp"

#include <cstdint>
#include <cstring>

namespace linkscope {

std::string pack(const std::vector<std::string>& words) {
  std::size_t all = 0;
  for (const std::string& word : words) all += sizeof(std::uint64_t) + word.size();
  std::string payload;
  payload.reserve(all);
  for (const std::string& word : words) {
    const std::uint64_t length = word.size();
    payload.append(reinterpret_cast<const char*>(&length), sizeof length);
    payload += word;
  }
  return payload;
}

std::optional<std::vector<std::string>> unpack(const std::string& payload) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < payload.size()) {
    std::uint64_t length = 0;
    if (payload.size() - at < sizeof length) return std::nullopt;
    std::memcpy(&length, payload.data() + at, sizeof length);
    at += sizeof length;
    if (payload.size() - at < length) return std::nullopt;
    words.push_back(payload.substr(at, length));
    at += length;
  }
  return words;
}

std::optional<std::vector<std::string>> unpack(const std::string& payload, std::size_t count) {
  auto words = unpack(payload);
  if (words && words->size() != count) words.reset();
  return words;
}

}  // namespace linkscope
