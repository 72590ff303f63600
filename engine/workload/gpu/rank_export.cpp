// Fields with their lengths before them.
#include "workload/gpu/rank_export.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace linkscope::workload {
namespace {

class FieldWriter {
 public:
  void put(const std::string& field) {
    const auto size = static_cast<std::uint32_t>(field.size());
    text_.append(reinterpret_cast<const char*>(&size), sizeof size);
    text_ += field;
  }
  void put(std::size_t number) { put(std::to_string(number)); }
  void put(const std::map<int, std::string>& by_peer) {
    put(by_peer.size());
    for (const auto& [peer, handle] : by_peer) {
      put(static_cast<std::size_t>(peer));
      put(handle);
    }
  }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  std::string text_;
};

class FieldReader {
 public:
  explicit FieldReader(const std::string& text) : text_(text) {}
  std::string field() {
    std::uint32_t size = 0;
    require(sizeof size);
    std::memcpy(&size, text_.data() + at_, sizeof size);
    at_ += sizeof size;
    require(size);
    at_ += size;
    return text_.substr(at_ - size, size);
  }
  std::size_t number() {
    const std::string digits = field();
    std::size_t value = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (wrong != std::errc() || end != digits.data() + digits.size()) refuse();
    return value;
  }
  std::map<int, std::string> by_peer() {
    std::map<int, std::string> found;
    for (std::size_t left = number(); left > 0; --left) {
      const int peer = static_cast<int>(number());
      found[peer] = field();
    }
    return found;
  }

 private:
  void require(std::size_t bytes) const {
    if (bytes > text_.size() - at_) refuse();
  }
  [[noreturn]] static void refuse() {
    throw Error(Fault::broken, "a process offered no ranks: do all run the same engine?");
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

bool all_given(const std::map<int, std::string>& handles) {
  return std::none_of(handles.begin(), handles.end(), [](const auto& one) { return one.second.empty(); });
}

}  // namespace

std::string ProcessExport::text() const {
  FieldWriter writer;
  writer.put(board);
  writer.put(ranks.size());
  for (const RankExport& one : ranks) {
    writer.put(static_cast<std::size_t>(one.rank));
    writer.put(one.memory.text());
    writer.put(one.sent);
    writer.put(one.freed);
  }
  return writer.text();
}

ProcessExport ProcessExport::read(const std::string& text) {
  FieldReader reader(text);
  ProcessExport process;
  process.board = reader.field();
  for (std::size_t left = reader.number(); left > 0; --left) {
    RankExport& one = process.ranks.emplace_back();
    one.rank = static_cast<int>(reader.number());
    one.memory = gpu::IpcExport::read(reader.field());
    one.sent = reader.by_peer();
    one.freed = reader.by_peer();
  }
  return process;
}

bool ProcessExport::has_events() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankExport& one) { return all_given(one.sent) && all_given(one.freed); });
}

}  // namespace linkscope::workload
