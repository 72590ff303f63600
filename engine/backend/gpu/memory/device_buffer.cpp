#include "backend/gpu/memory/device_buffer.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/pattern_kernels.hpp"

namespace linkscope::gpu {

DeviceBuffer::DeviceBuffer(Endpoint where, Bytes bytes, std::byte* address, Deleter deleter,
                           std::shared_ptr<GpuContext> context, int keeper)
    : Buffer(std::move(where), bytes),
      address_(address),
      deleter_(std::move(deleter)),
      context_(std::move(context)),
      keeper_(keeper) {}

DeviceBuffer::~DeviceBuffer() { deleter_(address_); }

void DeviceBuffer::fill(Bytes offset, Bytes length, std::uint64_t seed) {
  fill_pattern(*context_, keeper_, address_ + offset, length, seed);
}

void DeviceBuffer::poison(Bytes offset, Bytes length) {
  fill_poison(*context_, keeper_, address_ + offset, length);
}

std::optional<Bytes> DeviceBuffer::compare(Bytes offset, Bytes length, std::uint64_t seed) const {
  return compare_pattern(*context_, keeper_, address_ + offset, length, seed);
}

void DeviceBuffer::fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) {
  gpu::fill_elements(*context_, keeper_, address_ + offset, length, elements, seed);
}

std::optional<Bytes> DeviceBuffer::compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                    std::uint64_t seed) const {
  return gpu::compare_elements(*context_, keeper_, address_ + offset, length, elements, seed);
}

}  // namespace linkscope::gpu
