#include "workload/board_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace linkscope::workload {
namespace {

constexpr Bytes key_room = 4096;  // before the ranks' words: a page with the key by which processes know it

std::uint64_t random_key() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

std::string system_words(const std::string& what) { return what + ": " + std::strerror(errno); }

}  // namespace

BoardMemory::BoardMemory(Bytes bytes) : descriptor_(memfd_create("linkscope-ranks", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw Error(Fault::broken, system_words("no memory for ranks to share"));
  if (ftruncate(descriptor_, static_cast<off_t>(key_room + bytes)) != 0) {
    const std::string words = system_words("no memory for ranks to share");
    close(descriptor_);
    throw Error(Fault::broken, words);
  }
  map(bytes);
  const std::uint64_t key = random_key();
  std::memcpy(base_, &key, sizeof key);
}

BoardMemory::BoardMemory(const std::string& told, Bytes bytes) {
  std::istringstream words(told);
  long process = 0;
  int descriptor = 0;
  std::uint64_t key = 0;
  if (!(words >> process >> descriptor >> key))
    throw Error(Fault::broken, "a process offered no memory for ranks to share: do all run the same engine?");
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  const std::string unreachable = "the processes share no host memory: " + path;
  descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) throw Error(Fault::unsupported, system_words(unreachable));
  struct stat found{};
  if (fstat(descriptor_, &found) != 0 || !std::cmp_equal(found.st_size, key_room + bytes)) {
    close(descriptor_);
    throw Error(Fault::unsupported, unreachable + " is another file: do all share their process numbers?");
  }
  map(bytes);
  if (std::memcmp(base_, &key, sizeof key) != 0) {
    munmap(base_, key_room + bytes_);
    close(descriptor_);
    throw Error(Fault::unsupported, unreachable + " is another file: do all share their process numbers?");
  }
}

BoardMemory::~BoardMemory() {
  munmap(base_, key_room + bytes_);
  close(descriptor_);
}

void BoardMemory::map(Bytes bytes) {
  void* const at = mmap(nullptr, key_room + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (at == MAP_FAILED) {
    const std::string words = system_words("memory for ranks to share cannot be mapped");
    close(descriptor_);
    throw Error(Fault::broken, words);
  }
  base_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
}

std::byte* BoardMemory::data() const { return base_ + key_room; }

std::string BoardMemory::told() const {
  std::uint64_t key = 0;
  std::memcpy(&key, base_, sizeof key);
  return std::to_string(getpid()) + " " + std::to_string(descriptor_) + " " + std::to_string(key);
}

}  // namespace linkscope::workload
