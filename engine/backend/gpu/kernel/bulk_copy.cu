// kernel-bulk-copy: a kernel that has the copy unit beside each multiprocessor (TMA) move the bytes.
#include <string>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/region/region_transfer.hpp"

namespace linkscope::gpu {
namespace {

/// The rows of a slot, as in a region of one plane. `places`: null, or where each lies.
struct Rows {
  Bytes width;
  Bytes pitch;
  std::uint64_t count;
  const RowPlace* places;
};

/// The pieces of one warp, slot after slot: of all pieces of all rows, piece `warp` and every `warps`-th after it. The
/// place of a row is loaded when its turn comes, before its piece is asked for.
class WarpPieces {
 public:
  __device__ WarpPieces(const Sweep& sweep, const Rows& rows, unsigned piece_bytes, std::uint64_t warp,
                        std::uint64_t warps)
      : rows_(rows),
        stride_(sweep.stride),
        piece_bytes_(piece_bytes),
        in_row_((rows.width + piece_bytes - 1) / piece_bytes),
        first_(warp),
        step_(warps),
        slots_(sweep.slots),
        slot_(sweep.first),
        piece_(warp) {
    find_place();
  }

  /// Counts the pieces in `repeats` slots.
  [[nodiscard]] __device__ std::uint64_t count(std::uint64_t repeats) const {
    return first_ < all() ? repeats * ((all() - first_ + step_ - 1) / step_) : 0;
  }
  /// The current piece's offsets in the arenas.
  [[nodiscard]] __device__ Bytes source() const { return slot_ * stride_ + place_.source + within_; }
  [[nodiscard]] __device__ Bytes destination() const {
    return slot_ * stride_ + place_.destination + within_;
  }
  [[nodiscard]] __device__ unsigned bytes() const {
    const Bytes left = rows_.width - within_;
    return left < piece_bytes_ ? static_cast<unsigned>(left) : piece_bytes_;
  }
  __device__ void advance() {
    piece_ += step_;
    if (piece_ >= all()) {
      piece_ = first_;
      if (++slot_ == slots_) slot_ = 0;
    }
    find_place();
  }

 private:
  [[nodiscard]] __device__ std::uint64_t all() const { return rows_.count * in_row_; }
  __device__ void find_place() {
    if (piece_ >= all()) return;
    const std::uint64_t row = rows_.count == 1 ? 0 : piece_ / in_row_;
    within_ = (piece_ - row * in_row_) * piece_bytes_;
    place_ = rows_.places == nullptr ? RowPlace{row * rows_.pitch, row * rows_.pitch} : rows_.places[row];
  }

  Rows rows_;
  Bytes stride_;
  unsigned piece_bytes_;
  std::uint64_t in_row_;  ///< pieces
  std::uint64_t first_;
  std::uint64_t step_;
  std::uint64_t slots_;
  std::uint64_t slot_;
  std::uint64_t piece_;
  RowPlace place_;
  Bytes within_ = 0;  ///< the row
};

/// One thread's pipeline. The piece at hand is stored from its stage; the stage whose store is half a ring old has been
/// read by now, or soon is, and takes the next load. So half of the stages are on their way in, half on their way out.
/// Shared memory is touched by the copy unit alone, which needs no fence against itself.
template <unsigned stages>
__device__ void pump(const Sweep& sweep, WarpPieces loads, unsigned stage_bytes, std::byte* ring,
                     std::uint64_t* barriers) {
  constexpr unsigned leaving = stages / 2;
  const std::uint64_t total = loads.count(sweep.repeats);
  WarpPieces stores = loads;
  std::uint64_t loaded = 0;
  const auto load_next = [&] {
    const unsigned stage = loaded % stages;
    vendor::bulk_load(ring + static_cast<std::size_t>(stage) * stage_bytes, sweep.source + loads.source(),
                      loads.bytes(), barriers + stage);
    loads.advance();
    ++loaded;
  };
  for (unsigned stage = 0; stage < stages; ++stage) vendor::bulk_barrier_init(barriers + stage);
  while (loaded < stages && loaded < total) load_next();
  for (std::uint64_t stored = 0; stored < total; ++stored) {
    const unsigned stage = stored % stages;
    vendor::bulk_wait_loaded(barriers + stage, stored / stages % 2);
    vendor::bulk_store(sweep.destination + stores.destination(),
                       ring + static_cast<std::size_t>(stage) * stage_bytes, stores.bytes());
    stores.advance();
    if (stored < leaving) continue;
    vendor::bulk_wait_read<leaving>();
    if (loaded < total) load_next();
  }
  vendor::bulk_wait_written();
}

template <unsigned stages>
__global__ void bulk_copy_kernel(Sweep sweep, Rows rows, unsigned stage_bytes) {
  extern __shared__ __align__(128) std::byte shared[];
  const unsigned warp = threadIdx.x / warpSize;
  const unsigned warps = blockDim.x / warpSize;
  if (threadIdx.x % warpSize == 0) {
    const std::size_t ring_bytes = static_cast<std::size_t>(stages) * stage_bytes;
    auto* const barriers = reinterpret_cast<std::uint64_t*>(shared + warps * ring_bytes);
    const WarpPieces mine(sweep, rows, stage_bytes, blockIdx.x * static_cast<std::uint64_t>(warps) + warp,
                          gridDim.x * static_cast<std::uint64_t>(warps));
    pump<stages>(sweep, mine, stage_bytes, shared + warp * ring_bytes, barriers + warp * stages);
  }
  for_each_repeat(sweep, [&](Bytes slot) {
    for_each_tail_byte(sweep,
                       [&](Bytes offset) { sweep.destination[slot + offset] = sweep.source[slot + offset]; });
  });
}

using BulkKernel = void (*)(Sweep, Rows, unsigned);

BulkKernel kernel_of(unsigned stages) {
  switch (stages) {
    case 16:
      return &bulk_copy_kernel<16>;
    case 8:
      return &bulk_copy_kernel<8>;
    case 4:
      return &bulk_copy_kernel<4>;
    default:
      return &bulk_copy_kernel<2>;
  }
}

const void* address_of(BulkKernel kernel) { return reinterpret_cast<const void*>(kernel); }

Bytes shared_bytes_of_block(int device) {
  int shared = 0;
  LINKSCOPE_CHECK(gpuDeviceGetAttribute(&shared, gpuAttributeSharedPerBlockOptin, device));
  return static_cast<Bytes>(shared);
}

/// Every kernel, allowed all shared memory of a block on the current device.
std::vector<const void*> bulk_kernels(Bytes shared) {
  std::vector<const void*> kernels;
  for (const unsigned stages : {2U, 4U, 8U, 16U}) {
    kernels.push_back(address_of(kernel_of(stages)));
    LINKSCOPE_CHECK(gpuFuncSetAttribute(kernels.back(), gpuFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared)));
  }
  return kernels;
}

void launch_bulk(gpuStream_t stream, const Sweep& sweep, const Rows& rows, const Grid& grid) {
  kernel_of(grid.depth)<<<grid.blocks, grid.threads, bulk_shared_bytes(grid), stream>>>(sweep, rows,
                                                                                        grid.piece);
}

std::unique_ptr<Transfer> make_bulk_copy(const std::shared_ptr<GpuContext>& gpus, const Flow& flow,
                                         const Arenas& arenas) {
  auto memory = std::make_shared<const SweptMemory>(gpus, flow, arenas, flow.bytes);
  const Bytes shared = shared_bytes_of_block(memory->device);
  auto grids = bulk_grids(gpus->device(memory->device).multiprocessors, shared, flow.bytes, flow.bytes,
                          flow.parameters);
  SweepWork work =
      sweep_work(std::move(memory), flow.bytes / vector_bytes, GridChoice(bulk_numbers, std::move(grids)));
  work.kernels = bulk_kernels(shared);
  work.launch = [](const SweepLaunch& at) {
    launch_bulk(at.stream, at.sweep, {at.sweep.vectors * vector_bytes, 0, 1, nullptr}, at.grid);
  };
  if (is_local(flow)) work.touched_bytes = 2 * flow.bytes;
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace

Support takes_bulk(GpuContext& gpus, const Flow& flow) {
  if (const Support reached = kernels_reach(gpus, flow, Ends::both); !reached) return reached;
  gpus.use(flow.executor.index);
  std::string reason = vendor::no_bulk_copy(flow.executor.index, address_of(kernel_of(2)));
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

RegionKernel bulk_region_kernel(GpuContext& gpus, const Flow& flow, const Region& region) {
  gpus.use(flow.executor.index);
  const Bytes shared = shared_bytes_of_block(flow.executor.index);
  return {{bulk_numbers, bulk_grids(gpus.device(flow.executor.index).multiprocessors, shared, flow.bytes,
                                    region.width, flow.parameters)},
          bulk_kernels(shared),
          [](gpuStream_t stream, const Sweep& sweep, const Region& rows, const Grid& grid,
             const RowPlace* places) {
            launch_bulk(stream, sweep, {rows.width, rows.pitch, rows.rows, places}, grid);
          }};
}

Method kernel_bulk_copy(const std::shared_ptr<GpuContext>& gpus) {
  return stream_row(
      gpus,
      {"kernel-bulk-copy", "copies by a kernel's asynchronous bulk copies through shared memory (TMA)",
       Quantity::bandwidth, kernel_traits},
      parameters_of(bulk_numbers), &takes_bulk, &make_bulk_copy);
}

}  // namespace linkscope::gpu
