// Filling STREAM's arrays by CPUs.
#include "backend/gpu/kernel/stream_arrays.hpp"

#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {

void fill_on_host(GpuContext& context, const Buffer& buffer, Bytes length, std::uint64_t seed) {
  const auto fill = [&](Bytes offset, Bytes bytes) {
    auto* const values = reinterpret_cast<double*>(buffer.data());
    const std::uint64_t end = (offset + bytes) / sizeof(double);
    for (std::uint64_t i = offset / sizeof(double); i < end; ++i) values[i] = stream_value(seed, i);
  };
  context.host().workers(buffer.where().device.index).share_pinned(length, fill);
}

}  // namespace linkscope::gpu
