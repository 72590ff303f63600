// kernel-exchange: one kernel that copies both ways between two buffers.
#include <algorithm>
#include <string>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

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
/// their line in its home's cache, so this is only for ends on two devices, whose link is slower than that. The address
/// is hidden from the compiler in each repeat, or the load would be the same one every time and done once.
__global__ void __launch_bounds__(most_threads(1)) exchange_in_place_kernel(Sweep sweep) {
  const std::uint64_t vector = thread_index();
  const bool forward = goes_forward(vector, warpSize) != 0;
  const auto* from = reinterpret_cast<const Vector*>(forward ? sweep.source : sweep.destination);
  auto* to = reinterpret_cast<Vector*>(forward ? sweep.destination : sweep.source);
  for (std::uint64_t repeat = 0; repeat < sweep.repeats; ++repeat) {
    if (vector < sweep.vectors) to[vector] = vendor::load_shared_level(from + vendor::opaque(vector));
    for_each_tail_byte(sweep, [&](Bytes offset) { sweep.destination[offset] = sweep.source[offset]; });
  }
}

constexpr auto exchange_kernels = [](auto unroll, auto) { return &exchange_kernel<unroll>; };

/// What both buffers hold after an exchange: forward pieces of the source's pattern, the rest of the destination's.
struct CompareExchanged {
  Sweep sweep;
  std::uint64_t items_per_slot;  ///< its vectors, and the bytes behind them
  unsigned warp;
  std::uint64_t source_seed;
  std::uint64_t destination_seed;

  __device__ Bytes operator()(std::uint64_t i) const {
    const Bytes slot = i / items_per_slot * sweep.stride;
    const std::uint64_t item = i % items_per_slot;
    if (item < sweep.vectors) return vector(slot + item * vector_bytes, goes_forward(item, warp) != 0);
    const Bytes offset = slot + sweep.vectors * vector_bytes + (item - sweep.vectors);
    const auto expected = static_cast<std::byte>(pattern_byte(source_seed, offset));
    return sweep.source[offset] == expected && sweep.destination[offset] == expected ? no_bad : offset;
  }

 private:
  [[nodiscard]] __device__ Bytes vector(Bytes offset, bool forward) const {
    const std::uint64_t seed = forward ? source_seed : destination_seed;
    const std::uint64_t low = pattern_word(seed, offset / word_bytes);
    const std::uint64_t high = pattern_word(seed, offset / word_bytes + 1);
    const auto within = [&](const std::byte* buffer) {
      return first_difference(*reinterpret_cast<const Vector*>(buffer + offset), low, high);
    };
    const Bytes at_source = within(sweep.source);
    const Bytes at_destination = within(sweep.destination);
    const Bytes first = at_source < at_destination ? at_source : at_destination;
    return first < vector_bytes ? offset + first : no_bad;
  }
};

class ExchangeCheck final : public SweepCheck {
 public:
  using SweepCheck::SweepCheck;

  void arm(std::uint64_t seed) override {
    SweepCheck::arm(seed);
    memory().arenas.destination->fill(0, memory().extent(), ~seed);
    settle_caches(memory().arenas);
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override {
    const Sweep& sweep = memory().all;
    GpuContext& context = *memory().context;
    const std::uint64_t items = sweep.bytes - sweep.vectors * (vector_bytes - 1);
    const auto warp = static_cast<unsigned>(context.device(memory().device).warp_size);
    const auto bad = first_bad(context, memory().device, memory().reached(transfers) * items,
                               CompareExchanged{sweep, items, warp, seed, ~seed});
    if (!bad) return std::nullopt;
    return Mismatch{"byte " + std::to_string(*bad) + " of " + std::to_string(memory().extent()) +
                    " was not exchanged between " + memory().arenas.source->where().device.text() + " and " +
                    memory().arenas.destination->where().device.text()};
  }
  [[nodiscard]] Bytes verified_bytes(std::uint64_t transfers) const override {
    return 2 * SweepCheck::verified_bytes(transfers);
  }
};

std::unique_ptr<Transfer> make_exchange(const std::shared_ptr<GpuContext>& gpus, const Flow& flow,
                                        const Arenas& arenas) {
  const bool between_devices = flow.source->device != flow.destination->device;
  SweepWork work = dense_work(gpus, flow, arenas);
  work.check = std::make_unique<ExchangeCheck>(work.memory);
  work.kernels = all_kernels(exchange_kernels);
  work.kernels.push_back(reinterpret_cast<const void*>(&exchange_in_place_kernel));
  work.launch = [between_devices](const SweepLaunch& at) {
    const bool a_thread_each = at.grid.blocks * std::uint64_t{at.grid.threads} >= at.sweep.vectors;
    if (between_devices && a_thread_each && at.sweep.slots == 1) {
      exchange_in_place_kernel<<<at.grid.blocks, at.grid.threads, 0, at.stream>>>(at.sweep);
    } else {
      kernel_for(exchange_kernels, at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(at.sweep);
    }
  };
  if (between_devices && work.grids.all().size() > 1) {
    // One vector per thread, as nvbandwidth launches it: with traffic both ways, many short blocks can do better.
    const Bytes blocks = std::clamp<Bytes>((flow.bytes / vector_bytes + 1023) / 1024, 1, most_grid_blocks);
    work.grids.add({.blocks = static_cast<unsigned>(blocks), .threads = 1024});
  }
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace

Method kernel_exchange(const std::shared_ptr<GpuContext>& gpus) {
  return stream_row(
      gpus,
      {"kernel-exchange",
       "copies both ways at once by one kernel, alternate warps in opposite directions; both count",
       Quantity::bandwidth,
       {.by_kernel = true, .both_ways = true}},
      parameters_of(sweep_numbers),
      [](GpuContext& context, const Flow& flow) { return kernels_reach(context, flow, Ends::both); },
      &make_exchange);
}

}  // namespace linkscope::gpu
