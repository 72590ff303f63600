// Offers as bytes: numbers of four, and texts with their lengths before them.
#include "collective/member_export.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

class Writer {
 public:
  void put(std::uint32_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void put(const std::optional<gpu::IpcExport>& exported) {
    const std::string bytes = exported ? exported->text() : std::string();
    put(static_cast<std::uint32_t>(bytes.size()));
    text_ += bytes;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  std::uint32_t number() {
    std::uint32_t value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::optional<gpu::IpcExport> export_handles() {
    const std::uint32_t size = number();
    if (size == 0) return std::nullopt;
    return gpu::IpcExport::read(std::string(take(size), size));
  }

 private:
  const char* take(std::size_t bytes) {
    if (bytes > text_.size() - at_)
      throw Error(Fault::broken, "a process offered no members: do all run the same engine?");
    at_ += bytes;
    return text_.data() + at_ - bytes;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string text_of(const std::vector<MemberExport>& exports) {
  Writer writer;
  writer.put(static_cast<std::uint32_t>(exports.size()));
  for (const MemberExport& exported : exports) {
    writer.put(static_cast<std::uint32_t>(exported.index));
    writer.put(static_cast<std::uint32_t>(exported.multiprocessors));
    writer.put(std::uint32_t{exported.programmatic ? 1U : 0U});
    writer.put(exported.workspace);
    writer.put(exported.source);
    writer.put(exported.destination);
  }
  return writer.text();
}

std::vector<MemberExport> read_exports(const std::string& text) {
  Reader reader(text);
  std::vector<MemberExport> exports(reader.number());
  for (MemberExport& exported : exports) {
    exported.index = static_cast<int>(reader.number());
    exported.multiprocessors = static_cast<int>(reader.number());
    exported.programmatic = reader.number() != 0;
    exported.workspace = reader.export_handles();
    exported.source = reader.export_handles();
    exported.destination = reader.export_handles();
  }
  return exports;
}

}  // namespace linkscope::direct
