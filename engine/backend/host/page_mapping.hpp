// PageMapping: memory without a name, of a chosen page size, placed on a NUMA node. MemoryFile: such memory that another
// process of this host can map.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/host/workers.hpp"
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

enum class Pages {
  system_policy,     ///< what malloc gives: huge pages or not is the system's choice
  transparent_huge,  ///< MADV_HUGEPAGE on a range aligned to huge pages
  huge_tlb,          ///< MAP_HUGETLB, from the pool the administrator set aside
  shared,  ///< of a MemoryFile: other processes can map them; small ones, unless shmem_enabled says otherwise
};

/// Address space for `length` bytes of such pages, which are not Pages::shared, a multiple of their size, for munmap to
/// give back. Looks at no limit. Throws Error{no_memory}.
[[nodiscard]] std::byte* map_pages(Bytes length, Pages pages);
/// `bytes` rounded up to whole pages of that kind.
[[nodiscard]] Bytes whole_pages(Bytes bytes, Pages pages);
/// Binds pages to `node` (MPOL_BIND). The system's words where it refuses, as containers may.
[[nodiscard]] std::optional<std::string> bind_pages(std::byte* at, Bytes length, int node);

/// Owns one mapping. Nothing is in memory before touch().
class PageMapping {
 public:
  /// Throws Error{no_memory} where the address space or the huge page pool does not suffice, or where the
  /// machine or a cgroup surely does not let it fit.
  PageMapping(Bytes bytes, Pages pages);

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] Pages pages() const { return pages_; }
  /// Returns the file by which another process maps Pages::shared; null for others.
  [[nodiscard]] const MemoryFile* file() const { return file_ ? &*file_ : nullptr; }

  /// bind_pages of all of it.
  [[nodiscard]] std::optional<std::string> bind(int node) const { return bind_pages(data(), length_, node); }
  /// Brings every page into memory from threads of `toucher`, step by step as memory allows; `node` names the
  /// only one that may serve it. Throws Error{no_memory}.
  void touch(WorkerPool& toucher, std::optional<int> node) const;

  /// Share of sampled pages found on `node`, 0 to 1; the system's words where it does not tell.
  struct Residence {
    double share = 1;
    int elsewhere = -1;  ///< a node that holds others
    std::string problem;
  };
  [[nodiscard]] Residence residence(int node) const;
  /// Share of the memory that is in huge pages, from /proc/self/smaps: slow in a process whose drivers map thousands
  /// of ranges.
  [[nodiscard]] double huge_share() const;

 private:
  Bytes length_;  // mapped, at least what was asked
  Pages pages_;
  std::optional<MemoryFile> file_;
  MappedPages data_;
};

/// The system's default huge page, 0 where it has none.
[[nodiscard]] Bytes huge_page_bytes();
/// Free bytes of the huge page pool on `node`.
[[nodiscard]] Bytes free_huge_bytes(int node);
/// The system's choice of transparent huge pages: always, madvise, never; empty where it has none.
[[nodiscard]] std::string transparent_huge_policy();

}  // namespace linkscope::host
