// kernel-copy: threads load from the source and store to the destination.
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

namespace linkscope::gpu {
namespace {

template <unsigned unroll, Access access>
__global__ void __launch_bounds__(most_threads(unroll)) copy_kernel(Sweep sweep) {
  for_each_repeat(sweep, [&](Bytes slot) {
    const std::byte* source = sweep.source + slot;
    std::byte* destination = sweep.destination + slot;
    copy_vectors<unroll, access>(sweep.order, reinterpret_cast<Vector*>(destination),
                                 reinterpret_cast<const Vector*>(source), sweep.vectors);
    for_each_tail_byte(sweep, [&](Bytes offset) { destination[offset] = source[offset]; });
  });
}

constexpr auto copy_kernels = [](auto unroll, auto access) { return &copy_kernel<unroll, access>; };

void complete_copy(SweepWork& work, const Flow& flow) {
  work.kernels = all_kernels(copy_kernels);
  work.launch = [](const SweepLaunch& at) {
    kernel_for(copy_kernels, at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(at.sweep);
  };
  if (is_local(flow)) work.touched_bytes = 2 * flow.bytes;
}

}  // namespace

Method kernel_copy(const std::shared_ptr<GpuContext>& gpus) {
  return access_method(
      gpus,
      {"kernel-copy", "copies by a kernel that loads and stores 16 bytes per thread and instruction",
       Quantity::bandwidth, kernel_traits},
      Ends::both, &complete_copy);
}

}  // namespace linkscope::gpu
