// DeviceBuffer: memory that a GPU fills and checks.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "backend/gpu/memory/pattern_kernels.hpp"
#include "model/buffer.hpp"

namespace linkscope::gpu {

/// Device, managed or write-combined memory; its operations are kernels of `keeper`.
class DeviceBuffer : public Buffer {
 public:
  /// Gives the address back; must not throw.
  using Deleter = std::function<void(std::byte*)>;

  DeviceBuffer(Endpoint where, Bytes bytes, std::byte* address, Deleter deleter,
               std::shared_ptr<GpuContext> context, int keeper)
      : Buffer(std::move(where), bytes),
        address_(address),
        deleter_(std::move(deleter)),
        context_(std::move(context)),
        keeper_(keeper) {}
  ~DeviceBuffer() override { deleter_(address_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] std::byte* data() const override { return address_; }
  void fill(Bytes offset, Bytes length, std::uint64_t seed) override {
    fill_pattern(*context_, keeper_, address_ + offset, length, seed);
  }
  void poison(Bytes offset, Bytes length) override {
    fill_poison(*context_, keeper_, address_ + offset, length);
  }
  [[nodiscard]] std::optional<Bytes> compare(Bytes offset, Bytes length, std::uint64_t seed) const override {
    return compare_pattern(*context_, keeper_, address_ + offset, length, seed);
  }
  void fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) override {
    gpu::fill_elements(*context_, keeper_, address_ + offset, length, elements, seed);
  }
  [[nodiscard]] std::optional<Bytes> compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                      std::uint64_t seed) const override {
    return gpu::compare_elements(*context_, keeper_, address_ + offset, length, elements, seed);
  }
  void flush(Bytes /*offset*/, Bytes /*length*/) override {}  // no CPU caches it

 private:
  std::byte* address_;
  Deleter deleter_;
  std::shared_ptr<GpuContext> context_;
  int keeper_;
};

}  // namespace linkscope::gpu
