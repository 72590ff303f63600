// Kernels of narrow, strided and chunked accesses, and their checks.
#include "backend/gpu/kernel/access_pattern.hpp"

#include <string>

#include "backend/gpu/kernel/sweep_kernels.hpp"

namespace linkscope::gpu {
namespace {

using Unit = AccessPattern::Unit;

enum class Action { read, write, copy };

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
constexpr auto access_kernels = [](auto unroll, auto) { return &access_kernel<action, Element, unroll>; };

/// Gives what each access must have added to the sum after `transfers` reads from slot 0 on.
template <class Element>
struct ExpectedElement {
  Sweep sweep;
  AccessPattern pattern;
  std::uint64_t seed;
  std::uint64_t transfers;

  __device__ std::uint64_t operator()(std::uint64_t i) const {
    const std::uint64_t slot = i / pattern.accesses();
    const std::uint64_t access = i % pattern.accesses();
    const std::uint64_t element = access / pattern.fill * pattern.pitch + access % pattern.fill;
    const Bytes offset = slot * sweep.stride + element * sizeof(Element);
    return times_through(sweep, slot, transfers) * value_of(pattern_element<Element>(seed, offset));
  }
};

/// Every byte of the slots: the pattern where an access covers it, poison where none does.
struct CompareAccessed {
  Sweep sweep;
  AccessPattern pattern;
  std::uint64_t seed;

  __device__ Bytes operator()(std::uint64_t i) const {
    const Bytes offset = i % sweep.bytes;
    const Bytes at = i / sweep.bytes * sweep.stride + offset;
    const auto expected = pattern.covers(offset) ? pattern_byte(seed, at) : poison_byte;
    return static_cast<std::uint8_t>(sweep.destination[at]) == expected ? no_bad : at;
  }
};

class AccessedCheck final : public SweepCheck {
 public:
  AccessedCheck(std::shared_ptr<const SweptMemory> memory, const AccessPattern& pattern)
      : SweepCheck(std::move(memory)), pattern_(pattern) {}

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override {
    const Sweep& sweep = memory().all;
    const auto bad = first_bad(*memory().context, memory().device, memory().reached(transfers) * sweep.bytes,
                               CompareAccessed{sweep, pattern_, seed});
    if (!bad) return std::nullopt;
    const bool accessed = pattern_.covers(sweep.slots == 1 ? *bad : *bad % sweep.stride);
    const Endpoint& where = memory().arenas.destination->where();
    return Mismatch{"byte " + std::to_string(*bad) + " of " + where.device.text() + " " + where.memory +
                    (accessed ? " arrived wrong" : " lies in a gap and was written")};
  }

 private:
  AccessPattern pattern_;
};

template <Action action, class Element>
void set_kernels(SweepWork& work, const AccessPattern& pattern) {
  std::uint64_t* total = nullptr;
  if constexpr (action == Action::read) {
    const auto expected = [&memory = *work.memory, pattern](std::uint64_t seed, std::uint64_t transfers) {
      return sum_of(*memory.context, memory.device, pattern.accesses() * memory.all.slots,
                    ExpectedElement<Element>{memory.all, pattern, seed, transfers});
    };
    auto check = std::make_unique<SumCheck>(work.memory, pattern.accesses() * pattern.width, expected);
    total = check->total();
    work.check = std::move(check);
  } else {
    work.check = std::make_unique<AccessedCheck>(work.memory, pattern);
  }
  work.kernels = all_kernels(access_kernels<action, Element>);
  work.launch = [pattern, total](const SweepLaunch& at) {
    kernel_for(access_kernels<action, Element>, at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(
        at.sweep, pattern, at.seed, reinterpret_cast<Counter*>(total));
  };
}

template <Action action>
void set_kernels(SweepWork& work, const AccessPattern& pattern) {
  switch (pattern.width) {
    case 1:
      return set_kernels<action, std::uint8_t>(work, pattern);
    case 2:
      return set_kernels<action, std::uint16_t>(work, pattern);
    case 4:
      return set_kernels<action, std::uint32_t>(work, pattern);
    case 8:
      return set_kernels<action, std::uint64_t>(work, pattern);
    default:
      return set_kernels<action, Vector>(work, pattern);
  }
}

void require_aligned(const Sweep& sweep, Bytes width) {
  for (const std::byte* address : {sweep.source, sweep.destination}) {
    const bool first = reinterpret_cast<std::uintptr_t>(address) % width == 0;
    if (first && (sweep.slots == 1 || sweep.stride % width == 0)) continue;
    throw Error(Fault::unsupported,
                "the memory is not aligned for accesses of " + std::to_string(width) + " B");
  }
}

}  // namespace

SweepWork patterned_work(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                         const AccessPattern& pattern) {
  const auto warp_size = static_cast<std::uint64_t>(context->device(flow.executor.index).warp_size);
  auto memory = std::make_shared<const SweptMemory>(std::move(context), flow, arenas, pattern.span());
  require_aligned(memory->all, pattern.width);
  SweepWork work =
      sweep_work(std::move(memory), flow, pattern.units() * (pattern.unit == Unit::warp ? warp_size : 1));
  if (!flow.destination) {
    set_kernels<Action::read>(work, pattern);
  } else if (!flow.source) {
    set_kernels<Action::write>(work, pattern);
  } else {
    set_kernels<Action::copy>(work, pattern);
  }
  return work;
}

}  // namespace linkscope::gpu
