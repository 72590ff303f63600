// kernel-bulk-copy: a kernel that has the copy unit beside each multiprocessor (TMA) move the bytes.
#include <string>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

namespace linkscope::gpu {
namespace {

/// The pieces of one warp, slot after slot: piece `warp` and every `warps`-th after it.
class WarpPieces {
 public:
  __device__ WarpPieces(const Sweep& sweep, unsigned piece_bytes, std::uint64_t warp, std::uint64_t warps)
      : whole_(sweep.vectors * vector_bytes),
        stride_(sweep.stride),
        piece_bytes_(piece_bytes),
        first_(warp * piece_bytes),
        step_(warps * piece_bytes),
        slots_(sweep.slots),
        slot_(sweep.first),
        offset_(first_) {}

  /// Counts the pieces in `repeats` slots.
  [[nodiscard]] __device__ std::uint64_t count(std::uint64_t repeats) const {
    return first_ < whole_ ? repeats * ((whole_ - first_ + step_ - 1) / step_) : 0;
  }
  /// The current piece's offset in the arena.
  [[nodiscard]] __device__ Bytes offset() const { return slot_ * stride_ + offset_; }
  [[nodiscard]] __device__ unsigned bytes() const {
    const Bytes left = whole_ - offset_;
    return left < piece_bytes_ ? static_cast<unsigned>(left) : piece_bytes_;
  }
  __device__ void advance() {
    offset_ += step_;
    if (offset_ < whole_) return;
    offset_ = first_;
    if (++slot_ == slots_) slot_ = 0;
  }

 private:
  Bytes whole_;
  Bytes stride_;
  unsigned piece_bytes_;
  Bytes first_;
  Bytes step_;
  std::uint64_t slots_;
  std::uint64_t slot_;
  Bytes offset_;
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
    vendor::bulk_load(ring + static_cast<std::size_t>(stage) * stage_bytes, sweep.source + loads.offset(),
                      loads.bytes(), barriers + stage);
    loads.advance();
    ++loaded;
  };
  for (unsigned stage = 0; stage < stages; ++stage) vendor::bulk_barrier_init(barriers + stage);
  while (loaded < stages && loaded < total) load_next();
  for (std::uint64_t stored = 0; stored < total; ++stored) {
    const unsigned stage = stored % stages;
    vendor::bulk_wait_loaded(barriers + stage, stored / stages % 2);
    vendor::bulk_store(sweep.destination + stores.offset(),
                       ring + static_cast<std::size_t>(stage) * stage_bytes, stores.bytes());
    stores.advance();
    if (stored < leaving) continue;
    vendor::bulk_wait_read<leaving>();
    if (loaded < total) load_next();
  }
  vendor::bulk_wait_written();
}

template <unsigned stages>
__global__ void bulk_copy_kernel(Sweep sweep, unsigned stage_bytes) {
  extern __shared__ __align__(128) std::byte shared[];
  const unsigned warp = threadIdx.x / warpSize;
  const unsigned warps = blockDim.x / warpSize;
  if (threadIdx.x % warpSize == 0) {
    const std::size_t ring_bytes = static_cast<std::size_t>(stages) * stage_bytes;
    auto* const barriers = reinterpret_cast<std::uint64_t*>(shared + warps * ring_bytes);
    const WarpPieces mine(sweep, stage_bytes, blockIdx.x * static_cast<std::uint64_t>(warps) + warp,
                          gridDim.x * static_cast<std::uint64_t>(warps));
    pump<stages>(sweep, mine, stage_bytes, shared + warp * ring_bytes, barriers + warp * stages);
  }
  for_each_repeat(sweep, [&](Bytes slot) {
    for_each_tail_byte(sweep,
                       [&](Bytes offset) { sweep.destination[slot + offset] = sweep.source[slot + offset]; });
  });
}

using BulkKernel = void (*)(Sweep, unsigned);

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

Support takes_bulk(GpuContext& gpus, const Flow& flow) {
  if (const Support reached = kernels_reach(gpus, flow, Ends::both); !reached) return reached;
  gpus.use(flow.executor.index);
  std::string reason = vendor::no_bulk_copy(flow.executor.index, address_of(kernel_of(2)));
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

std::unique_ptr<Transfer> make_bulk_copy(const std::shared_ptr<GpuContext>& gpus, const Flow& flow,
                                         const Arenas& arenas) {
  auto memory = std::make_shared<const SweptMemory>(gpus, flow, arenas, flow.bytes);
  const Bytes shared = shared_bytes_of_block(memory->device);
  auto grids = bulk_grids(gpus->device(memory->device).multiprocessors, shared, flow.bytes, flow.parameters);
  SweepWork work =
      sweep_work(std::move(memory), flow.bytes / vector_bytes, GridChoice(bulk_numbers, std::move(grids)));
  for (const unsigned stages : {2U, 4U, 8U, 16U}) {
    work.kernels.push_back(address_of(kernel_of(stages)));
    LINKSCOPE_CHECK(gpuFuncSetAttribute(work.kernels.back(), gpuFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared)));
  }
  work.launch = [](const SweepLaunch& at) {
    kernel_of(at.grid.depth)<<<at.grid.blocks, at.grid.threads, bulk_shared_bytes(at.grid), at.stream>>>(
        at.sweep, at.grid.piece);
  };
  if (is_local(flow)) work.touched_bytes = 2 * flow.bytes;
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace

Method kernel_bulk_copy(const std::shared_ptr<GpuContext>& gpus) {
  return stream_row(
      gpus,
      {"kernel-bulk-copy", "copies by a kernel's asynchronous bulk copies through shared memory (TMA)",
       Quantity::bandwidth, kernel_traits},
      parameters_of(bulk_numbers), &takes_bulk, &make_bulk_copy);
}

}  // namespace linkscope::gpu
