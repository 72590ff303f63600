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
#include "base/error.hpp"

namespace linkscope::host {
namespace {

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

}  // namespace linkscope::host
