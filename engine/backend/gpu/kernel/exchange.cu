#include "backend/gpu/kernel/exchange.hpp"

#include <algorithm>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/memory/pattern_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr Access exchange_access = Access::cached;

/// The pieces of odd number go from source to destination, the others the opposite way.
__host__ __device__ constexpr std::uint64_t goes_forward(std::uint64_t vector, std::uint64_t warp) {
  return vector / warp % 2;
}

/// A block holds a whole number of warp pairs, so every thread keeps its direction from group to group.
template <unsigned unroll>
__global__ void __launch_bounds__(most_threads(unroll)) exchange_kernel(Sweep sweep) {
  const bool forward = goes_forward(thread_index(), warpSize) != 0;
  std::byte* const from = forward ? sweep.source : sweep.destination;
  std::byte* const to = forward ? sweep.destination : sweep.source;
  for_each_repeat(sweep, [&](Bytes slot) {
    copy_vectors<unroll, exchange_access>(sweep.order, reinterpret_cast<Vector*>(to + slot),
                                          reinterpret_cast<const Vector*>(from + slot), sweep.vectors);
    for_each_tail_byte(sweep,
                       [&](Bytes offset) { sweep.destination[slot + offset] = sweep.source[slot + offset]; });
  });
}

/// A thread per vector, which repeats its own vector before it ends: the order of nvbandwidth's split-warp kernel.
/// Blocks pass over the buffers once, however many repeats there are, which spares address translation. Repeats find
/// their line in its home's cache, so this is only for ends on two devices, whose link is slower than that.
__global__ void __launch_bounds__(most_threads(1)) exchange_in_place_kernel(Sweep sweep) {
  const std::uint64_t vector = thread_index();
  const bool forward = goes_forward(vector, warpSize) != 0;
  const auto* from = reinterpret_cast<const Vector*>(forward ? sweep.source : sweep.destination);
  auto* to = reinterpret_cast<Vector*>(forward ? sweep.destination : sweep.source);
  for (std::uint64_t repeat = 0; repeat < sweep.repeats; ++repeat) {
    if (vector < sweep.vectors) to[vector] = vendor::load_shared_level(from + vector);
    for_each_tail_byte(sweep, [&](Bytes offset) { sweep.destination[offset] = sweep.source[offset]; });
  }
}

struct ExchangeKernels {
  template <unsigned unroll, Access>
  static auto get() {
    return &exchange_kernel<unroll>;
  }
};

/// What both buffers hold after an exchange: forward pieces of the source's pattern, the rest of the destination's.
__global__ void compare_exchanged_kernel(Sweep sweep, std::uint64_t source_seed,
                                         std::uint64_t destination_seed, Counter* first_bad) {
  for_each_repeat(sweep, [&](Bytes slot) {
    const std::byte* source = sweep.source + slot;
    const std::byte* destination = sweep.destination + slot;
    for (std::uint64_t i = thread_index(); i < sweep.vectors; i += thread_count()) {
      const std::uint64_t seed = goes_forward(i, warpSize) != 0 ? source_seed : destination_seed;
      const std::uint64_t word = slot / sizeof(std::uint64_t) + 2 * i;
      const std::uint64_t low = pattern_word(seed, word);
      const std::uint64_t high = pattern_word(seed, word + 1);
      const Bytes at_source = first_difference(reinterpret_cast<const Vector*>(source)[i], low, high);
      const Bytes at_destination =
          first_difference(reinterpret_cast<const Vector*>(destination)[i], low, high);
      const Bytes within = at_source < at_destination ? at_source : at_destination;
      if (within < vector_bytes) atomicMin(first_bad, static_cast<Counter>(slot + i * vector_bytes + within));
    }
    for_each_tail_byte(sweep, [&](Bytes offset) {
      const std::uint64_t word = pattern_word(source_seed, (slot + offset) / sizeof(std::uint64_t));
      const auto expected = static_cast<std::byte>(word >> ((slot + offset) % sizeof(std::uint64_t) * 8));
      if (source[offset] == expected && destination[offset] == expected) return;
      atomicMin(first_bad, static_cast<Counter>(slot + offset));
    });
  });
}

class ExchangeTransfer final : public KernelTransfer {
 public:
  ExchangeTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : KernelTransfer(std::move(context), flow, arenas),
        in_place_(flow.source->device != flow.destination->device) {
    this->context().load(device(), all_kernels<ExchangeKernels>());
    this->context().load(device(), {reinterpret_cast<const void*>(&compare_exchanged_kernel),
                                    reinterpret_cast<const void*>(&exchange_in_place_kernel)});
    if (!in_place_) return;
    // One vector per thread, as nvbandwidth launches it: with traffic both ways, many short blocks can do better.
    const Bytes vectors = std::max<Bytes>(flow.bytes / vector_bytes, 1);
    const auto blocks = static_cast<unsigned>(std::min<Bytes>((vectors + 1023) / 1024, 1U << 20U));
    if (facts().candidates.size() > 1) add_shape({blocks, 1024, 1, Access::cached});
  }

  void arm(std::uint64_t seed) override {
    KernelTransfer::arm(seed);
    arenas().destination->fill(0, extent(), destination_seed(seed));
    settle_caches(arenas());
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    constexpr unsigned threads = 512;
    const auto blocks = static_cast<unsigned>(4 * context().device(device()).multiprocessors);
    const gpuStream_t stream = context().service_stream(device());
    std::uint64_t* first_bad = context().scratch_word(device());
    LINKSCOPE_CHECK(gpuMemsetAsync(first_bad, 0xFF, sizeof *first_bad, stream));
    Sweep sweep = arena();
    sweep.repeats = touched_slots();
    compare_exchanged_kernel<<<blocks, threads, 0, stream>>>(sweep, seed, destination_seed(seed),
                                                             reinterpret_cast<Counter*>(first_bad));
    LINKSCOPE_CHECK(gpuGetLastError());
    const std::uint64_t bad = read_word(context(), device(), first_bad);
    if (bad >= extent()) return std::nullopt;
    return Mismatch{"byte " + std::to_string(bad) + " of " + std::to_string(extent()) +
                    " was not exchanged between " + arenas().source->where().device.text() + " and " +
                    arenas().destination->where().device.text()};
  }
  [[nodiscard]] Bytes verified_bytes() const override { return 2 * KernelTransfer::verified_bytes(); }

 protected:
  void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) override {
    const bool a_thread_each = shape.blocks * static_cast<std::uint64_t>(shape.threads) >= sweep.vectors;
    if (in_place_ && a_thread_each && sweep.slots == 1) {
      exchange_in_place_kernel<<<shape.blocks, shape.threads, 0, stream>>>(sweep);
    } else {
      kernel_for<ExchangeKernels>(shape)<<<grid_of(sweep, shape), shape.threads, 0, stream>>>(sweep);
    }
    LINKSCOPE_CHECK(gpuGetLastError());
  }

 private:
  static std::uint64_t destination_seed(std::uint64_t seed) { return ~seed; }

  bool in_place_;
};

}  // namespace

std::map<std::string, std::string> KernelExchange::own_parameters() const { return shape_parameters(); }

Support KernelExchange::supports(const Flow& flow) const { return kernels_reach(flow, Ends::both); }

std::unique_ptr<Transfer> KernelExchange::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<ExchangeTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
