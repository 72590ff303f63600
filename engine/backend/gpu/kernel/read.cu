#include "backend/gpu/kernel/read.hpp"

#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "model/pattern.hpp"

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

struct ReadKernels {
  template <unsigned unroll, Access access>
  static auto get() {
    return &read_kernel<unroll, access>;
  }
};

/// What read_kernel must have summed after `touched` repeats from slot 0 on: from the pattern alone.
__global__ void expect_kernel(Sweep sweep, std::uint64_t seed, std::uint64_t touched, std::uint64_t* total) {
  const std::uint64_t words_per_slot = (sweep.bytes + word_bytes - 1) / word_bytes;
  const Bytes last_bytes = sweep.bytes - (words_per_slot - 1) * word_bytes;
  const std::uint64_t last_mask = last_bytes == word_bytes ? ~0ULL : (1ULL << (last_bytes * 8)) - 1;
  std::uint64_t sum = 0;
  for (std::uint64_t i = thread_index(); i < words_per_slot * sweep.slots; i += thread_count()) {
    const std::uint64_t slot = i / words_per_slot;
    const std::uint64_t index = i % words_per_slot;
    const std::uint64_t word = pattern_word(seed, slot * (sweep.stride / word_bytes) + index);
    const std::uint64_t times = touched / sweep.slots + (slot < touched % sweep.slots ? 1 : 0);
    sum += times * (index + 1 == words_per_slot ? word & last_mask : word);
  }
  add_block(sum, reinterpret_cast<Counter*>(total));
}

class KernelReadTransfer final : public KernelTransfer {
 public:
  KernelReadTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : KernelTransfer(std::move(context), flow, arenas), sums_(this->context(), device(), 2) {
    this->context().load(device(), all_kernels<ReadKernels>());
    this->context().load(device(), {reinterpret_cast<const void*>(&expect_kernel)});
  }

  void arm(std::uint64_t seed) override {
    KernelTransfer::arm(seed);
    sums_.clear();
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    constexpr unsigned threads = 512;
    const auto blocks = static_cast<unsigned>(4 * context().device(device()).multiprocessors);
    const gpuStream_t stream = context().service_stream(device());
    LINKSCOPE_CHECK(gpuMemsetAsync(sums_.data() + 1, 0, sizeof(std::uint64_t), stream));
    expect_kernel<<<blocks, threads, 0, stream>>>(arena(), seed, touched(), sums_.data() + 1);
    LINKSCOPE_CHECK(gpuGetLastError());
    const std::vector<std::uint64_t> sums = sums_.read();
    if (sums[0] == sums[1]) return std::nullopt;
    if (auto damaged = damaged_source(seed)) return damaged;
    return Mismatch{"the sum of all words read is wrong, though " + arenas().source->where().device.text() +
                    " " + arenas().source->where().memory + " holds its pattern"};
  }

 protected:
  void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) override {
    kernel_for<ReadKernels>(shape)<<<grid_of(sweep, shape), shape.threads, 0, stream>>>(sweep, sums_.data());
    LINKSCOPE_CHECK(gpuGetLastError());
  }

 private:
  [[nodiscard]] std::optional<Mismatch> damaged_source(std::uint64_t seed) const {
    const auto bad = arenas().source->compare(0, extent(), seed);
    if (!bad) return std::nullopt;
    return Mismatch{"the sum of all words read is wrong: the source's byte " + std::to_string(*bad) +
                    " no longer holds its pattern"};
  }

  DeviceWords sums_;  // what was read, what should have been
};

}  // namespace

std::unique_ptr<Transfer> KernelRead::make_dense(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<KernelReadTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
