// kernel-write: threads store pattern_word of the armed seed, computed in registers: nothing is read.
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

namespace linkscope::gpu {
namespace {

template <unsigned unroll, Access access>
__global__ void __launch_bounds__(most_threads(unroll)) write_kernel(Sweep sweep, std::uint64_t seed) {
  for_each_repeat(sweep, [&](Bytes slot) {
    auto* vectors = reinterpret_cast<Vector*>(sweep.destination + slot);
    const std::uint64_t slot_seed = shifted_seed(seed, slot / sizeof(std::uint64_t));
    const auto put = [&](std::uint64_t i) {
      store<access>(vectors + i,
                    vector_of(pattern_word(slot_seed, 2 * i), pattern_word(slot_seed, 2 * i + 1)));
    };
    for_each_group<unroll>(
        sweep.order, sweep.vectors,
        [&](std::uint64_t first, std::uint64_t step) {
#pragma unroll
          for (unsigned k = 0; k < unroll; ++k) put(first + k * step);
        },
        [&](std::uint64_t first, std::uint64_t step) {
          for (std::uint64_t i = first; i < sweep.vectors; i += step) put(i);
        });
    for_each_tail_byte(sweep, [&](Bytes offset) {
      sweep.destination[slot + offset] = static_cast<std::byte>(pattern_byte(slot_seed, offset));
    });
  });
}

constexpr auto write_kernels = [](auto unroll, auto access) { return &write_kernel<unroll, access>; };

void complete_write(SweepWork& work, const Flow& /*flow*/) {
  work.kernels = all_kernels(write_kernels);
  work.launch = [](const SweepLaunch& at) {
    kernel_for(write_kernels, at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(at.sweep, at.seed);
  };
}

}  // namespace

Method kernel_write(const std::shared_ptr<GpuContext>& gpus) {
  return access_method(gpus,
                       {"kernel-write", "writes by a kernel, 16 bytes per thread and instruction",
                        Quantity::bandwidth, kernel_traits},
                       Ends::destination, &complete_write);
}

}  // namespace linkscope::gpu
