// DeviceBuffer: memory that a GPU fills and checks.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "model/buffer.hpp"

namespace linkscope::gpu {

class GpuContext;

/// Device, managed or write-combined memory; its operations are kernels of `keeper`.
class DeviceBuffer : public Buffer {
 public:
  /// Gives the address back; must not throw.
  using Deleter = std::function<void(std::byte*)>;

  DeviceBuffer(Endpoint where, Bytes bytes, std::byte* address, Deleter deleter,
               std::shared_ptr<GpuContext> context, int keeper);
  ~DeviceBuffer() override;

  [[nodiscard]] std::byte* data() const override { return address_; }
  void fill(Bytes offset, Bytes length, std::uint64_t seed) override;
  void poison(Bytes offset, Bytes length) override;
  [[nodiscard]] std::optional<Bytes> compare(Bytes offset, Bytes length, std::uint64_t seed) const override;
  void fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) override;
  [[nodiscard]] std::optional<Bytes> compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                      std::uint64_t seed) const override;
  void flush(Bytes /*offset*/, Bytes /*length*/) override {}  // no CPU caches it

 private:
  std::byte* address_;
  Deleter deleter_;
  std::shared_ptr<GpuContext> context_;
  int keeper_;
};

}  // namespace linkscope::gpu
