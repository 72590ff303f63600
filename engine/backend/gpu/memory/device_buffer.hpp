// DeviceBuffer: memory that a GPU fills and checks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "backend/gpu/context.hpp"
#include "model/buffer.hpp"

namespace linkscope::gpu {

/// Device, managed or write-combined memory. Its operations are kernels of `keeper`, which reaches it, for any alignment
/// and length; they have ended on return.
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
  void fill(Bytes offset, Bytes length, std::uint64_t seed) override;
  void poison(Bytes offset, Bytes length) override;
  [[nodiscard]] std::optional<Bytes> compare(Bytes offset, Bytes length, std::uint64_t seed) const override;
  /// These two throw Error{bad_input} where the place or the length are no whole elements.
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
