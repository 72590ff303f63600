#include "backend/host/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "backend/host/page_mapping.hpp"
#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace linkscope::host {
namespace {

void* map_shared(int descriptor, Bytes bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
}

[[noreturn]] void no_memory(const std::string& what) {
  throw Error(Fault::no_memory, what + ": " + std::strerror(errno));
}

[[noreturn]] void refused(const MemoryFile::Key& key, const std::string& why) {
  throw Error(Fault::unsupported, "cannot map memory of process " + std::to_string(key.pid) + ": " + why);
}

}  // namespace

MemoryFile::MemoryFile(Bytes bytes)
    : key_{::getpid(), ::memfd_create("linkscope", MFD_CLOEXEC), 0, 0, bytes} {
  const auto descriptor = static_cast<int>(key_.descriptor);
  if (descriptor < 0) no_memory("memfd_create");
  struct stat found{};
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 && ::fstat(descriptor, &found) == 0) {
    key_.device = found.st_dev;
    key_.inode = found.st_ino;
    return;
  }
  const int code = errno;
  ::close(descriptor);
  errno = code;
  no_memory("cannot make room for " + format_bytes(bytes));
}

MemoryFile::~MemoryFile() {
  if (key_.descriptor >= 0) ::close(static_cast<int>(key_.descriptor));
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : key_(other.key_) { other.key_.descriptor = -1; }

std::byte* MemoryFile::map() const {
  void* const at = map_shared(static_cast<int>(key_.descriptor), key_.bytes);
  if (at == MAP_FAILED) no_memory("cannot map " + format_bytes(key_.bytes));
  return static_cast<std::byte*>(at);
}

ForeignPages::ForeignPages(const MemoryFile::Key& key) : bytes_(key.bytes) {
  const std::string path = "/proc/" + std::to_string(key.pid) + "/fd/" + std::to_string(key.descriptor);
  const Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  const int descriptor = opened.number();
  if (descriptor < 0) refused(key, path + ": " + std::strerror(errno));
  struct stat found{};
  if (::fstat(descriptor, &found) != 0 || found.st_dev != key.device || found.st_ino != key.inode ||
      std::cmp_less(found.st_size, key.bytes))
    refused(key, "its number means another process here: do the two have different process namespaces?");
  void* const at = map_shared(descriptor, bytes_);
  if (at == MAP_FAILED) refused(key, std::strerror(errno));
  data_ = static_cast<std::byte*>(at);
  if (populate_pages(data_, bytes_)) return;
  const std::string why = std::strerror(errno);
  ::munmap(at, bytes_);
  refused(key, why);
}

ForeignPages::~ForeignPages() { ::munmap(data_, bytes_); }

}  // namespace linkscope::host
