// Kernels that copy regions of rows and planes, between arrays of any pitch.
#include "backend/gpu/region/region_transfer.hpp"

#include <bit>

#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/memory/service_kernels.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned in_flight = 4;     // units per thread
constexpr unsigned warp_lanes = 32;   // of the narrowest warp
constexpr unsigned most_lanes = 128;  // threads that share a row's stretch; divides every block

/// Where a row starts in either shape. A division of half the width costs a quarter.
struct RowAt {
  __device__ RowAt(std::uint64_t row, std::uint64_t rows_per_plane, bool few)
      : plane(few ? static_cast<std::uint32_t>(row) / static_cast<std::uint32_t>(rows_per_plane)
                  : row / rows_per_plane),
        within(row - plane * rows_per_plane) {}
  [[nodiscard]] __device__ Bytes offset(const Region& region) const {
    return plane * region.plane_pitch + within * region.pitch;
  }

  std::uint64_t plane;
  std::uint64_t within;
};

/// What a group of `lanes` threads moves at a time, `in_flight` units each: a stretch of one row, or where rows are
/// short one unit per thread of each of several rows. Neighbouring threads take neighbouring units and neighbouring
/// groups neighbouring rows, so that a warp asks for whole lines where the region has them. All loads come before the
/// stores, and pass the first-level cache by: the repeats of one launch would find a warm slot there, and not on the
/// link.
template <class Unit, unsigned rows_at_once>
__global__ void __launch_bounds__(most_region_threads)
    copy_region_kernel(Sweep sweep, Region from, Region to, unsigned lanes, const RowPlace* places) {
  constexpr unsigned units_at_once = in_flight / rows_at_once;
  const std::uint64_t units = from.width / sizeof(Unit);
  const std::uint64_t stretch = static_cast<std::uint64_t>(lanes) * units_at_once;
  const std::uint64_t stretches = rows_at_once > 1 ? 1 : (units + stretch - 1) / stretch;
  const std::uint64_t rows = from.rows * from.planes;
  const std::uint64_t bundles = (rows + rows_at_once - 1) / rows_at_once;
  const std::uint64_t groups = thread_count() / lanes;
  const bool few = rows >> 32U == 0;
  for_each_repeat(sweep, [&](Bytes slot) {
    for (std::uint64_t task = thread_index() / lanes; task < bundles * stretches; task += groups) {
      const std::uint64_t bundle = rows_at_once > 1 ? task : task / stretches;
      const std::uint64_t first = (task - bundle * stretches) * stretch + threadIdx.x % lanes;
      Unit held[in_flight];
      Bytes into[rows_at_once];
#pragma unroll
      for (unsigned r = 0; r < rows_at_once; ++r) {
        const std::uint64_t turn = bundle + r * bundles;
        if (turn >= rows) continue;
        const RowAt row(turn, from.rows, few);
        const RowPlace place = places == nullptr ? RowPlace{row.offset(from), row.offset(to)} : places[turn];
        into[r] = place.destination;
        const auto* source = reinterpret_cast<const Unit*>(sweep.source + slot + place.source);
#pragma unroll
        for (unsigned k = 0; k < units_at_once; ++k) {
          if (first + k * lanes < units)
            held[r * units_at_once + k] = vendor::load_shared_level(source + first + k * lanes);
        }
      }
#pragma unroll
      for (unsigned r = 0; r < rows_at_once; ++r) {
        if (bundle + r * bundles >= rows) continue;
        auto* destination = reinterpret_cast<Unit*>(sweep.destination + slot + into[r]);
#pragma unroll
        for (unsigned k = 0; k < units_at_once; ++k) {
          if (first + k * lanes < units) destination[first + k * lanes] = held[r * units_at_once + k];
        }
      }
    }
  });
}

/// The largest power of two up to vector_bytes that divides every row's start and width.
Bytes unit_of(const Sweep& sweep, const Region& from, const Region& to) {
  const auto address = [](const std::byte* at) {
    return static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(at));
  };
  Bytes all = vector_bytes | address(sweep.source) | address(sweep.destination);
  if (sweep.slots > 1) all |= sweep.stride;
  for (const Region& region : {from, to}) {
    all |= region.width;
    if (region.rows > 1) all |= region.pitch;
    if (region.planes > 1) all |= region.plane_pitch;
  }
  return all & (~all + 1);
}

using CopyKernel = void (*)(Sweep, Region, Region, unsigned, const RowPlace*);

/// Rows that the threads of one warp hold, a unit each.
bool is_short(std::uint64_t units) { return units <= warp_lanes; }

template <unsigned rows_at_once>
CopyKernel kernel_for(Bytes unit) {
  switch (unit) {
    case 16:
      return &copy_region_kernel<Vector, rows_at_once>;
    case 8:
      return &copy_region_kernel<std::uint64_t, rows_at_once>;
    case 4:
      return &copy_region_kernel<std::uint32_t, rows_at_once>;
    case 2:
      return &copy_region_kernel<std::uint16_t, rows_at_once>;
    default:
      return &copy_region_kernel<std::uint8_t, rows_at_once>;
  }
}

/// Threads in a group, a power of two: as many as a short row has units; enough for a longer row's stretch.
unsigned lanes_of(std::uint64_t units) {
  if (is_short(units)) return static_cast<unsigned>(std::bit_ceil(units));
  unsigned lanes = warp_lanes;
  while (lanes < most_lanes && static_cast<std::uint64_t>(lanes) * in_flight < units) lanes *= 2;
  return lanes;
}

/// All ones for each of the eight bytes from `offset` on that is the region's.
__device__ std::uint64_t mask_of(const Region& region, Bytes offset) {
  const Bytes in_plane = offset % region.plane_pitch;
  const Bytes in_row = in_plane % region.pitch;
  if (in_plane / region.pitch < region.rows && in_row + word_bytes <= region.width) return ~0ULL;
  if (in_row >= region.width && in_row + word_bytes <= region.pitch) return 0;
  std::uint64_t mask = 0;
  for (Bytes k = 0; k < word_bytes; ++k) {
    if (region.contains(offset + k)) mask |= 0xFFULL << (8 * k);
  }
  return mask;
}

/// Checks the word `item` of a window, or as many of its bytes as there are.
struct CompareRegion {
  const std::byte* window;
  Bytes first;
  Bytes length;
  Region region;
  std::uint64_t seed;
  const std::uint64_t* origins;

  __device__ Bytes operator()(std::uint64_t item) const {
    constexpr std::uint64_t poison = poison_byte * 0x0101010101010101ULL;
    const Bytes at = item * word_bytes;
    const Bytes count = length - at < word_bytes ? length - at : word_bytes;
    std::uint64_t found = 0;
    if (count == word_bytes) {
      found = reinterpret_cast<const std::uint64_t*>(window)[item];
    } else {
      for (Bytes k = 0; k < count; ++k) found |= static_cast<std::uint64_t>(window[at + k]) << (8 * k);
    }
    const std::uint64_t mask = mask_of(region, first + at);
    const Bytes row = (first + at) / region.pitch;
    const Bytes origin =
        origins == nullptr ? first + at : origins[row] * region.pitch + (first + at) % region.pitch;
    const std::uint64_t expected = (pattern_word(seed, origin / word_bytes) & mask) | (poison & ~mask);
    const Bytes within = first_difference(found, expected);
    return within < count ? at + within : no_bad;
  }
};

}  // namespace

void launch_region_copy(gpuStream_t stream, const Sweep& sweep, const Region& from, const Region& to,
                        const Grid& grid, const RowPlace* places) {
  const Bytes unit = unit_of(sweep, from, to);
  const std::uint64_t units = from.width / unit;
  const CopyKernel kernel = is_short(units) ? kernel_for<in_flight>(unit) : kernel_for<1>(unit);
  kernel<<<grid.blocks, grid.threads, 0, stream>>>(sweep, from, to, lanes_of(units), places);
  LINKSCOPE_CHECK(gpuGetLastError());
}

std::vector<const void*> region_copy_kernels() {
  std::vector<const void*> kernels;
  for (const Bytes unit : {1, 2, 4, 8, 16}) {
    kernels.push_back(reinterpret_cast<const void*>(kernel_for<1>(unit)));
    kernels.push_back(reinterpret_cast<const void*>(kernel_for<in_flight>(unit)));
  }
  return kernels;
}

std::optional<Bytes> compare_region(GpuContext& context, int device, const std::byte* window, Bytes first,
                                    Bytes length, const Region& region, std::uint64_t seed,
                                    const std::uint64_t* origins) {
  return first_bad(context, device, (length + word_bytes - 1) / word_bytes,
                   CompareRegion{window, first, length, region, seed, origins});
}

}  // namespace linkscope::gpu
