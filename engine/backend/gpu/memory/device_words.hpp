// DeviceWords: a few 64-bit words in one GPU's memory, for what kernels report.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/gpu/context.hpp"

namespace linkscope::gpu {

/// Owned; zero at first. Kernels of its device may write it.
class DeviceWords {
 public:
  /// `context` outlives it. Throws Error{no_memory}.
  DeviceWords(GpuContext& context, int device, std::size_t count);
  ~DeviceWords();
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;

  [[nodiscard]] std::uint64_t* data() const { return words_; }
  void clear();
  /// Replaces all of them.
  void write(const std::vector<std::uint64_t>& words);
  [[nodiscard]] std::vector<std::uint64_t> read() const;

 private:
  DeviceWords(GpuContext& context, int device, std::size_t count, std::uint64_t* words)
      : context_(context), device_(device), count_(count), words_(words) {}

  GpuContext& context_;
  int device_;
  std::size_t count_;
  std::uint64_t* words_;
};

}  // namespace linkscope::gpu
