// MemoryFile: pages without a name that another process of this host can map, and what that process maps of them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/descriptor.hpp"
#include "base/units.hpp"

namespace linkscope::host {

struct Unmap {
  Bytes bytes = 0;
  void operator()(std::byte* at) const noexcept { munmap(at, bytes); }
};
/// Pages that are unmapped when it goes.
using MappedPages = std::unique_ptr<std::byte, Unmap>;

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

  /// All of it. Throws Error{no_memory}.
  [[nodiscard]] MappedPages map() const;
  [[nodiscard]] const Key& key() const { return key_; }

 private:
  Descriptor descriptor_;
  Key key_;
};

/// Another process's MemoryFile, mapped here: writing to it takes no fault. Throws Error{unsupported} where the system
/// does not let this process have it.
[[nodiscard]] MappedPages map_foreign(const MemoryFile::Key& key);

}  // namespace linkscope::host
