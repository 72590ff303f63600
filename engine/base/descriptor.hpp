// Descriptor: a file descriptor that is closed when it goes.
#pragma once

#include <unistd.h>

#include <utility>

namespace linkscope {

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over `number`; -1: none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }
  /// Closes it before its time.
  void close() noexcept {
    if (number_ >= 0) static_cast<void>(::close(std::exchange(number_, -1)));
  }

 private:
  int number_ = -1;
};

}  // namespace linkscope
