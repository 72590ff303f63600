// Kernels of narrow, strided and chunked accesses, and their checks.
#include "backend/gpu/kernel/access_pattern.hpp"

#include <string>

#include "backend/gpu/kernel/kernel_transfer.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/memory/pattern_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

using Unit = AccessPattern::Unit;

enum class Action { read, write, copy };

Action action_of(const Flow& flow) {
  if (!flow.destination) return Action::read;
  return flow.source ? Action::copy : Action::write;
}

/// The pattern's bytes at byte `offset` of an arena; never crosses a word, for it is aligned.
template <class Element>
__device__ Element pattern_element(std::uint64_t seed, Bytes offset) {
  const std::uint64_t word = pattern_word(seed, offset / sizeof word);
  return static_cast<Element>(word >> (offset % sizeof word * 8));
}
template <>
__device__ Vector pattern_element<Vector>(std::uint64_t seed, Bytes offset) {
  const std::uint64_t index = offset / sizeof index;
  return vector_of(pattern_word(seed, index), pattern_word(seed, index + 1));
}

template <class Element>
__device__ std::uint64_t value_of(Element element) {
  return element;
}
__device__ inline std::uint64_t value_of(const Vector& element) {
  return low_word(element) + high_word(element);
}

/// Calls visit(indices of up to `unroll` elements of the slot that this thread accesses, how many) for all of them.
template <unsigned unroll, class Visit>
__device__ void for_each_access(const AccessPattern& pattern, Order order, const Visit& visit) {
  const bool chunked = pattern.unit == Unit::warp;
  const std::uint64_t lane = chunked ? threadIdx.x % warpSize : 0;
  const Walk walk = chunked ? walk_of<unroll>(order, threadIdx.x / warpSize, blockDim.x / warpSize)
                            : walk_of<unroll>(order, threadIdx.x, blockDim.x);
  const std::uint64_t units = pattern.units_of_lane(lane);
  const auto group = [&](std::uint64_t first, std::uint64_t step, const auto& inside) {
    std::uint64_t elements[unroll];
    bool present[unroll];
#pragma unroll
    for (unsigned k = 0; k < unroll; ++k) {
      elements[k] = (first + k * step) * pattern.pitch + lane;
      present[k] = inside(first + k * step);
    }
    visit(elements, present);
  };
  for_each_group<unroll>(
      walk, units,
      [&](std::uint64_t first, std::uint64_t step) {
        group(first, step, [](std::uint64_t) { return true; });
      },
      [&](std::uint64_t first, std::uint64_t step) {
        group(first, step, [units](std::uint64_t unit) { return unit < units; });
      });
}

template <Action action, class Element, unsigned unroll>
__global__ void __launch_bounds__(most_threads(unroll))
    access_kernel(Sweep sweep, AccessPattern pattern, std::uint64_t seed, Counter* total) {
  std::uint64_t sum = 0;
  for_each_repeat(sweep, [&](Bytes slot) {
    const auto* from = reinterpret_cast<const Element*>(sweep.source + slot);
    auto* to = reinterpret_cast<Element*>(sweep.destination + slot);
    for_each_access<unroll>(
        pattern, sweep.order, [&](const std::uint64_t(&elements)[unroll], const bool(&present)[unroll]) {
          Element values[unroll];
#pragma unroll
          for (unsigned k = 0; k < unroll; ++k) {
            if (!present[k]) continue;
            if constexpr (action != Action::write) values[k] = vendor::load_shared_level(from + elements[k]);
            if constexpr (action == Action::write)
              values[k] = pattern_element<Element>(seed, slot + elements[k] * sizeof(Element));
          }
#pragma unroll
          for (unsigned k = 0; k < unroll; ++k) {
            if (!present[k]) continue;
            if constexpr (action == Action::read) sum += value_of(values[k]);
            if constexpr (action != Action::read) to[elements[k]] = values[k];
          }
        });
  });
  if constexpr (action == Action::read) add_block(sum, total);
}

template <Action action, class Element>
struct AccessKernels {
  template <unsigned unroll, Access>
  static auto get() {
    return &access_kernel<action, Element, unroll>;
  }
};

/// What `touched` reads from slot 0 on must have summed: from the pattern alone.
template <class Element>
__global__ void expect_sum_kernel(Sweep sweep, AccessPattern pattern, std::uint64_t seed,
                                  std::uint64_t touched, Counter* total) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = thread_index(); i < pattern.accesses() * sweep.slots; i += thread_count()) {
    const std::uint64_t slot = i / pattern.accesses();
    const std::uint64_t access = i % pattern.accesses();
    const std::uint64_t element = access / pattern.fill * pattern.pitch + access % pattern.fill;
    const std::uint64_t times = touched / sweep.slots + (slot < touched % sweep.slots ? 1 : 0);
    sum += times * value_of(pattern_element<Element>(seed, slot * sweep.stride + element * sizeof(Element)));
  }
  add_block(sum, total);
}

/// Every byte of the slots: the pattern where an access covers it, poison where none does.
__global__ void compare_accessed_kernel(Sweep sweep, AccessPattern pattern, std::uint64_t seed,
                                        Counter* first_bad) {
  for_each_repeat(sweep, [&](Bytes slot) {
    for (Bytes offset = thread_index(); offset < sweep.bytes; offset += thread_count()) {
      const auto expected =
          pattern.covers(offset) ? pattern_element<std::uint8_t>(seed, slot + offset) : poison_byte;
      if (static_cast<std::uint8_t>(sweep.destination[slot + offset]) != expected)
        atomicMin(first_bad, static_cast<Counter>(slot + offset));
    }
  });
}

/// What one action and width needs: picked once, so that the transfer itself is no template.
struct PatternedKernels {
  using Measured = void (*)(Sweep, AccessPattern, std::uint64_t, Counter*);

  Measured (*measured)(const LaunchShape&);
  void (*expect_sum)(Sweep, AccessPattern, std::uint64_t, std::uint64_t, Counter*);
  std::vector<const void*> all;
};

template <Action action, class Element>
PatternedKernels kernels_of() {
  PatternedKernels kernels{[](const LaunchShape& shape) -> PatternedKernels::Measured {
                             return kernel_for<AccessKernels<action, Element>>(shape);
                           },
                           &expect_sum_kernel<Element>, all_kernels<AccessKernels<action, Element>>()};
  kernels.all.push_back(reinterpret_cast<const void*>(kernels.expect_sum));
  kernels.all.push_back(reinterpret_cast<const void*>(&compare_accessed_kernel));
  return kernels;
}

template <Action action>
PatternedKernels kernels_of(Bytes width) {
  switch (width) {
    case 1:
      return kernels_of<action, std::uint8_t>();
    case 2:
      return kernels_of<action, std::uint16_t>();
    case 4:
      return kernels_of<action, std::uint32_t>();
    case 8:
      return kernels_of<action, std::uint64_t>();
    default:
      return kernels_of<action, Vector>();
  }
}

PatternedKernels kernels_of(Action action, Bytes width) {
  switch (action) {
    case Action::read:
      return kernels_of<Action::read>(width);
    case Action::write:
      return kernels_of<Action::write>(width);
    default:
      return kernels_of<Action::copy>(width);
  }
}

class PatternedTransfer final : public KernelTransfer {
 public:
  PatternedTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                    const AccessPattern& pattern, unsigned warp_size)
      : KernelTransfer(std::move(context), flow, arenas, work_of(pattern, warp_size)),
        action_(action_of(flow)),
        pattern_(pattern),
        kernels_(kernels_of(action_, pattern.width)),
        words_(this->context(), device(), 2) {
    check_aligned();
    this->context().load(device(), kernels_.all);
  }

  void arm(std::uint64_t seed) override {
    KernelTransfer::arm(seed);
    words_.clear();
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return action_ == Action::read ? verify_sum(seed) : verify_bytes(seed);
  }
  [[nodiscard]] Bytes verified_bytes() const override {
    return action_ == Action::read ? touched_slots() * pattern_.accesses() * pattern_.width
                                   : KernelTransfer::verified_bytes();
  }

 protected:
  void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) override {
    kernels_.measured(shape)<<<grid_of(sweep, shape), shape.threads, 0, stream>>>(sweep, pattern_, seed(),
                                                                                  word(0));
    LINKSCOPE_CHECK(gpuGetLastError());
  }

 private:
  static constexpr unsigned check_threads = 512;

  static ThreadDemand work_of(const AccessPattern& pattern, unsigned warp_size) {
    return {pattern.span(), pattern.units() * (pattern.unit == Unit::warp ? warp_size : 1)};
  }

  void check_aligned() const {
    for (const std::byte* address : {arena().source, arena().destination}) {
      const bool first = reinterpret_cast<std::uintptr_t>(address) % pattern_.width == 0;
      if (first && (arena().slots == 1 || arena().stride % pattern_.width == 0)) continue;
      throw Error(Fault::unsupported,
                  "the memory is not aligned for accesses of " + std::to_string(pattern_.width) + " B");
    }
  }

  [[nodiscard]] Counter* word(std::size_t index) const {
    return reinterpret_cast<Counter*>(words_.data() + index);
  }
  [[nodiscard]] unsigned check_blocks() const {
    return static_cast<unsigned>(4 * context().device(device()).multiprocessors);
  }

  [[nodiscard]] std::optional<Mismatch> verify_sum(std::uint64_t seed) const {
    const gpuStream_t stream = context().service_stream(device());
    LINKSCOPE_CHECK(gpuMemsetAsync(word(1), 0, sizeof(Counter), stream));
    kernels_.expect_sum<<<check_blocks(), check_threads, 0, stream>>>(arena(), pattern_, seed, touched(),
                                                                      word(1));
    LINKSCOPE_CHECK(gpuGetLastError());
    const std::vector<std::uint64_t> sums = words_.read();
    if (sums[0] == sums[1]) return std::nullopt;
    const auto damaged = arenas().source->compare(0, extent(), seed);
    return Mismatch{"the sum of all elements read is wrong: " +
                    (damaged
                         ? "the source's byte " + std::to_string(*damaged) + " no longer holds its pattern"
                         : "though the source holds its pattern")};
  }

  [[nodiscard]] std::optional<Mismatch> verify_bytes(std::uint64_t seed) const {
    const gpuStream_t stream = context().service_stream(device());
    LINKSCOPE_CHECK(gpuMemsetAsync(word(1), 0xFF, sizeof(Counter), stream));
    Sweep sweep = arena();
    sweep.repeats = touched_slots();
    compare_accessed_kernel<<<check_blocks(), check_threads, 0, stream>>>(sweep, pattern_, seed, word(1));
    LINKSCOPE_CHECK(gpuGetLastError());
    const Bytes bad = words_.read()[1];
    if (bad >= extent()) return std::nullopt;
    const bool accessed = pattern_.covers(arena().slots == 1 ? bad : bad % arena().stride);
    return Mismatch{"byte " + std::to_string(bad) + " of " + arenas().destination->where().device.text() +
                    " " + arenas().destination->where().memory +
                    (accessed ? " arrived wrong" : " lies in a gap and was written")};
  }

  Action action_;
  AccessPattern pattern_;
  PatternedKernels kernels_;
  DeviceWords words_;  // the sum of what was read; what it should be, or the first bad byte
};

}  // namespace

std::unique_ptr<Transfer> make_patterned(std::shared_ptr<GpuContext> context, const Flow& flow,
                                         const Arenas& arenas, const AccessPattern& pattern) {
  const auto warp_size = static_cast<unsigned>(context->device(flow.executor.index).warp_size);
  return std::make_unique<PatternedTransfer>(std::move(context), flow, arenas, pattern, warp_size);
}

}  // namespace linkscope::gpu
