// MemoryFile: pages without a name that another process of this host can map, and what that process maps of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace linkscope::host {

/// Owns pages (memfd_create(2)). They are gone with the last process that has them open or mapped, however it ends.
class MemoryFile {
 public:
  /// The facts by which another process maps it. Trivially copyable.
  struct Key {
    std::int64_t pid = 0;
    std::int64_t descriptor = -1;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  ///< that process's number may be another's by then
    Bytes bytes = 0;
  };

  /// Throws Error{no_memory}.
  explicit MemoryFile(Bytes bytes);
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  /// All of it, for munmap to give back. Throws Error{no_memory}.
  [[nodiscard]] std::byte* map() const;
  [[nodiscard]] const Key& key() const { return key_; }

 private:
  Key key_;
};

/// Another process's MemoryFile, mapped here.
class ForeignPages {
 public:
  /// Writing to them takes no fault from then on. Throws Error{unsupported} where the system does not let this process
  /// have them.
  explicit ForeignPages(const MemoryFile::Key& key);
  ~ForeignPages();
  ForeignPages(const ForeignPages&) = delete;
  ForeignPages& operator=(const ForeignPages&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  Bytes bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace linkscope::host
