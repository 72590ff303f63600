// kernel-read: threads load, and sum what they load.
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

namespace linkscope::gpu {
namespace {

template <unsigned unroll, Access access>
__global__ void __launch_bounds__(most_threads(unroll)) read_kernel(Sweep sweep, std::uint64_t* total) {
  std::uint64_t sum = 0;
  for_each_repeat(sweep, [&](Bytes slot) {
    const auto* vectors = reinterpret_cast<const Vector*>(sweep.source + slot);
    for_each_group<unroll>(
        sweep.order, sweep.vectors,
        [&](std::uint64_t first, std::uint64_t step) {
          Vector group[unroll];
#pragma unroll
          for (unsigned k = 0; k < unroll; ++k) group[k] = load<access>(vectors + first + k * step);
#pragma unroll
          for (unsigned k = 0; k < unroll; ++k) sum += low_word(group[k]) + high_word(group[k]);
        },
        [&](std::uint64_t first, std::uint64_t step) {
          for (std::uint64_t i = first; i < sweep.vectors; i += step) {
            const Vector vector = load<access>(vectors + i);
            sum += low_word(vector) + high_word(vector);
          }
        });
    for_each_tail_byte(sweep, [&](Bytes offset) {
      sum += static_cast<std::uint64_t>(sweep.source[slot + offset]) << (offset % sizeof(std::uint64_t) * 8);
    });
  });
  add_block(sum, reinterpret_cast<Counter*>(total));
}

constexpr auto read_kernels = [](auto unroll, auto access) { return &read_kernel<unroll, access>; };

/// Gives what each word must have added to read_kernel's sum after `transfers` from slot 0 on.
struct ExpectedWord {
  Sweep sweep;
  std::uint64_t words_per_slot;
  std::uint64_t seed;
  std::uint64_t transfers;

  __device__ std::uint64_t operator()(std::uint64_t i) const {
    const std::uint64_t slot = i / words_per_slot;
    const std::uint64_t index = i % words_per_slot;
    const std::uint64_t word = pattern_word(seed, slot * (sweep.stride / word_bytes) + index);
    const Bytes bytes = sweep.bytes - index * word_bytes;
    const std::uint64_t mask = bytes >= word_bytes ? ~0ULL : (1ULL << (bytes * 8)) - 1;
    return times_through(sweep, slot, transfers) * (word & mask);
  }
};

void complete_read(SweepWork& work, const Flow& flow) {
  const SweptMemory& memory = *work.memory;
  auto check = std::make_unique<SumCheck>(
      work.memory, flow.bytes, [&memory](std::uint64_t seed, std::uint64_t transfers) {
        const std::uint64_t words = (memory.all.bytes + word_bytes - 1) / word_bytes;
        return sum_of(*memory.context, memory.device, words * memory.all.slots,
                      ExpectedWord{memory.all, words, seed, transfers});
      });
  work.kernels = all_kernels(read_kernels);
  work.launch = [total = check->total()](const SweepLaunch& at) {
    kernel_for(read_kernels, at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(at.sweep, total);
  };
  work.check = std::move(check);
}

}  // namespace

Method kernel_read(const std::shared_ptr<GpuContext>& gpus) {
  return access_method(
      gpus,
      {"kernel-read", "reads by a kernel, 16 bytes per thread and instruction, checked by an exact sum",
       Quantity::bandwidth, kernel_traits},
      Ends::source, &complete_read);
}

}  // namespace linkscope::gpu
