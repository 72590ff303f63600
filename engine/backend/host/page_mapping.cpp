#include "backend/host/page_mapping.hpp"

#include <fcntl.h>
#include <numaif.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "backend/host/memory_room.hpp"
#include "backend/host/sysfs.hpp"
#include "base/error.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14, newer than some C libraries' headers
#endif

namespace linkscope::host {

namespace {

constexpr Bytes touch_step = 256 * MiB;
/// Ordinary pages up to here are touched by one thread, so that neighbours in the buffer are mostly
/// neighbours in memory, as in an application's own array: threads in parallel interleave them, and a chase
/// through the last-level cache sees it. Beyond, speed matters more (one thread brings in some 3 GB/s).
constexpr Bytes one_thread_limit = 4 * GiB;

Bytes page_bytes() { return static_cast<Bytes>(sysconf(_SC_PAGESIZE)); }

/// Flags for ordinary pages: MAP_NORESERVE because the kernel would compare with today's memory, which grows
/// on some machines; touch() finds out what really fits.
constexpr int ordinary = MAP_NORESERVE;

std::byte* map_anonymous(Bytes length, int flags) {
  void* at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (at == MAP_FAILED) {
    throw Error(Fault::no_memory, "cannot map " + format_bytes(length) + ": " + std::strerror(errno));
  }
  return static_cast<std::byte*>(at);
}

/// Maps `length` so that it starts at a multiple of `unit`.
std::byte* map_aligned(Bytes length, Bytes unit) {
  std::byte* at = map_anonymous(length + unit, ordinary);
  const Bytes before =
      round_up(reinterpret_cast<std::uintptr_t>(at), unit) - reinterpret_cast<std::uintptr_t>(at);
  if (before > 0) munmap(at, before);
  munmap(at + before + length, unit - before);
  return at + before;
}

/// Brings pages into this process's tables, to be written without a fault; what they hold stays. Nobody else may write
/// to them meanwhile. False where the kernel says that it cannot.
bool populate_pages(std::byte* at, Bytes length) {
  if (madvise(at, length, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  const Bytes page = page_bytes();
  for (Bytes offset = 0; offset < length; offset += page) {
    auto* const first = reinterpret_cast<volatile std::byte*>(at + offset);
    *first = *first;
  }
  return true;
}

/// Null where the system refuses; errno says why.
MappedPages map_shared(int descriptor, Bytes bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  return {at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at), {bytes}};
}

[[noreturn]] void no_memory(const std::string& what) {
  throw Error(Fault::no_memory, what + ": " + std::strerror(errno));
}

[[noreturn]] void refused(const MemoryFile::Key& key, const std::string& why) {
  throw Error(Fault::unsupported, "cannot map memory of process " + std::to_string(key.pid) + ": " + why);
}

}  // namespace

MemoryFile::MemoryFile(Bytes bytes) : descriptor_(::memfd_create("linkscope", MFD_CLOEXEC)) {
  const int number = descriptor_.number();
  if (number < 0) no_memory("memfd_create");
  struct stat found{};
  if (::ftruncate(number, static_cast<off_t>(bytes)) != 0 || ::fstat(number, &found) != 0)
    no_memory("cannot make room for " + format_bytes(bytes));
  key_ = {::getpid(), number, found.st_dev, found.st_ino, bytes};
}

MappedPages MemoryFile::map() const {
  MappedPages pages = map_shared(descriptor_.number(), key_.bytes);
  if (!pages) no_memory("cannot map " + format_bytes(key_.bytes));
  return pages;
}

MappedPages map_foreign(const MemoryFile::Key& key) {
  const std::string path = "/proc/" + std::to_string(key.pid) + "/fd/" + std::to_string(key.descriptor);
  const Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  const int descriptor = opened.number();
  if (descriptor < 0) refused(key, path + ": " + std::strerror(errno));
  struct stat found{};
  if (::fstat(descriptor, &found) != 0 || found.st_dev != key.device || found.st_ino != key.inode ||
      std::cmp_less(found.st_size, key.bytes))
    refused(key, "its number means another process here: do the two have different process namespaces?");
  MappedPages pages = map_shared(descriptor, key.bytes);
  if (!pages || !populate_pages(pages.get(), key.bytes)) refused(key, std::strerror(errno));
  return pages;
}

std::byte* map_pages(Bytes length, Pages pages) {
  if (pages == Pages::huge_tlb) return map_anonymous(length, MAP_HUGETLB);
  if (pages == Pages::system_policy) return map_anonymous(length, ordinary);
  std::byte* at = map_aligned(length, huge_page_bytes());
  madvise(at, length, MADV_HUGEPAGE);  // a refusal shows in huge_share()
  return at;
}

Bytes whole_pages(Bytes bytes, Pages pages) {
  const bool huge = pages == Pages::transparent_huge || pages == Pages::huge_tlb;
  return round_up(bytes, huge ? huge_page_bytes() : page_bytes());
}

std::optional<std::string> bind_pages(std::byte* at, Bytes length, int node) {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  const auto index = static_cast<std::size_t>(node);
  std::vector<unsigned long> mask(index / bits + 1, 0);
  mask[index / bits] |= 1UL << (index % bits);
  // The kernel looks at one bit less than it is told.
  if (mbind(at, length, MPOL_BIND, mask.data(), mask.size() * bits + 1, 0) == 0) return std::nullopt;
  return std::strerror(errno);
}

PageMapping::PageMapping(Bytes bytes, Pages pages) : length_(whole_pages(bytes, pages)), pages_(pages) {
  const auto present = MemoryRoom::present();
  if (present && length_ > *present) {
    throw Error(Fault::no_memory,
                format_bytes(length_) + " do not fit: the machine has " + format_bytes(*present));
  }
  const auto room = MemoryRoom::cgroup_room();
  if (room && pages != Pages::huge_tlb &&
      length_ > *room) {  // the pool is charged to another cgroup controller
    throw Error(Fault::no_memory, format_bytes(length_) + " do not fit: the memory cgroup has " +
                                      format_bytes(*room) + " left");
  }
  if (pages == Pages::shared) file_.emplace(length_);
  data_ = file_ ? file_->map() : MappedPages(map_pages(length_, pages), {length_});
}

void PageMapping::touch(WorkerPool& toucher, std::optional<int> node) const {
  std::atomic<bool> failed{false};
  for (Bytes from = 0; from < length_; from += touch_step) {
    const Bytes step = std::min(touch_step, length_ - from);
    if (pages_ != Pages::huge_tlb) MemoryRoom::wait_for(step, node);  // the pool is reserved already
    const auto bring_in = [&](Bytes offset, Bytes length) {
      if (!populate_pages(data() + from + offset, length)) failed = true;
    };
    if ((pages_ == Pages::system_policy || pages_ == Pages::shared) && length_ <= one_thread_limit) {
      toucher.run([&] { bring_in(0, step); });
    } else {
      toucher.share_pinned(step, bring_in);
    }
    if (failed)
      throw Error(Fault::no_memory,
                  "the system ran out of pages at " + format_bytes(from) + " of " + format_bytes(length_));
  }
}

PageMapping::Residence PageMapping::residence(int node) const {
  constexpr Bytes samples = 512;
  const Bytes page = page_bytes();
  const Bytes pages = length_ / page;
  const Bytes count = std::min(samples, pages);
  std::vector<void*> at(count);
  for (Bytes i = 0; i < count; ++i) at[i] = data() + i * pages / count * page;
  std::vector<int> status(count, -1);
  Residence found;
  if (move_pages(0, count, at.data(), nullptr, status.data(), 0) != 0) {
    found.problem = std::strerror(errno);
    return found;
  }
  Bytes here = 0;
  for (int where : status) {
    if (where == node) {
      ++here;
    } else if (where >= 0) {
      found.elsewhere = where;
    }
  }
  found.share = static_cast<double>(here) / static_cast<double>(count);
  return found;
}

double PageMapping::huge_share() const {
  if (length_ < huge_page_bytes()) return 0;
  std::ifstream file("/proc/self/smaps");
  const auto begin = reinterpret_cast<std::uintptr_t>(data());
  Bytes resident_kib = 0;
  Bytes huge_kib = 0;
  bool ours = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    Bytes value = 0;
    words >> key >> value;
    if (!key.ends_with(':')) {  // "start-end permissions ...": the next range
      const auto dash = key.find('-');
      if (dash == std::string::npos) continue;
      const auto first = std::stoull(key.substr(0, dash), nullptr, 16);
      const auto end = std::stoull(key.substr(dash + 1), nullptr, 16);
      ours = first < begin + length_ && begin < end;
      if (first >= begin + length_) break;  // they ascend
    } else if (ours) {
      if (key == "Rss:" || key == "Private_Hugetlb:") resident_kib += value;
      if (key == "AnonHugePages:" || key == "ShmemPmdMapped:" || key == "Private_Hugetlb:") huge_kib += value;
    }
  }
  return resident_kib == 0 ? 0 : static_cast<double>(huge_kib) / static_cast<double>(resident_kib);
}

Bytes huge_page_bytes() { return read_keyed("/proc/meminfo", "Hugepagesize").value_or(0); }

Bytes free_huge_bytes(int node) {
  const Bytes page = huge_page_bytes();
  const std::string pool = "/hugepages/hugepages-" + std::to_string(page / KiB) + "kB/free_hugepages";
  const auto on_node = read_bytes("/sys/devices/system/node/node" + std::to_string(node) + pool);
  return page * on_node.value_or(read_bytes("/sys/kernel/mm" + pool).value_or(0));
}

std::string transparent_huge_policy() { return read_choice("/sys/kernel/mm/transparent_hugepage/enabled"); }

}  // namespace linkscope::host
