// Slots, launches and rounds of sweeping transfers.
#include "backend/gpu/kernel/sweep_transfer.hpp"

#include <algorithm>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

/// Threads that a multiprocessor has room for. A transfer that keeps fewer of them busy shares the GPU with the next.
constexpr std::uint64_t threads_in_flight = 2048;
constexpr const char* repeats_overlap =
    "repeats overlap in one kernel: a rate of many, not one transfer's time";

PeerMapping reach(GpuContext& context, int device, const Buffer* buffer) {
  return buffer == nullptr ? PeerMapping{} : context.reach(device, *buffer);
}

Sweep sweep_of(std::byte* source, std::byte* destination, const Rotation& rotation, Bytes span) {
  Sweep sweep;
  sweep.source = source;
  sweep.destination = destination;
  sweep.bytes = span;
  sweep.stride = rotation.stride;
  sweep.slots = rotation.slots;
  const auto is_aligned = [](const std::byte* address) {
    return reinterpret_cast<std::uintptr_t>(address) % vector_bytes == 0;
  };
  const bool aligned =
      is_aligned(source) && is_aligned(destination) && (sweep.slots == 1 || sweep.stride % vector_bytes == 0);
  sweep.vectors = aligned ? span / vector_bytes : 0;
  return sweep;
}

/// Grids with streaming accesses are left out where a cache would serve them, which a tuning pass would take for speed.
/// In the executor's own memory lines that ask to be evicted first push one another out, so that a part of a rotated
/// arena stays in the last-level cache. And streaming loads are kept by first-level caches: repeats of one small slot
/// would be served there, whatever the link.
std::vector<Grid> offered_grids(const SweptMemory& memory, const Flow& flow, std::uint64_t threads) {
  const GpuProperties& device = memory.context->device(memory.device);
  std::vector<Grid> grids = sweep_grids(device.multiprocessors, threads, flow.parameters);
  const bool repeats_small_slot = memory.all.slots == 1 && memory.all.bytes <= device.l2_bytes;
  if (grids.size() > 1 && (is_local(flow) || repeats_small_slot))
    std::erase_if(grids, [](const Grid& grid) { return grid.access() == Access::streaming; });
  return grids;
}

}  // namespace

bool is_local(const Flow& flow) {
  const auto here = [&flow](const std::optional<Endpoint>& end) {
    return !end || end->device == flow.executor;
  };
  return here(flow.source) && here(flow.destination);
}

SweptMemory::SweptMemory(std::shared_ptr<GpuContext> shared_context, const Flow& flow, const Arenas& ends,
                         Bytes span)
    : context(std::move(shared_context)),
      device(flow.executor.index),
      arenas(ends),
      source(reach(*context, device, arenas.source)),
      destination(reach(*context, device, arenas.destination)),
      all(sweep_of(source.address, destination.address, arenas.rotation, span)) {}

SweepCheck::SweepCheck(std::shared_ptr<const SweptMemory> memory)
    : memory_(std::move(memory)),
      copy_(memory_->arenas.source, memory_->arenas.destination, memory_->all.bytes,
            memory_->arenas.rotation) {}

void SweepCheck::arm(std::uint64_t seed) {
  copy_.arm(seed);
  settle_caches(memory_->arenas);
}

std::optional<Mismatch> SweepCheck::verify(std::uint64_t seed, std::uint64_t transfers) const {
  return copy_.verify(seed, memory_->reached(transfers));
}

Bytes SweepCheck::verified_bytes(std::uint64_t transfers) const {
  return memory_->reached(transfers) * memory_->all.bytes;
}

SumCheck::SumCheck(const std::shared_ptr<const SweptMemory>& memory, Bytes payload, Expected expected)
    : SweepCheck(memory),
      payload_(payload),
      expected_(std::move(expected)),
      total_(*memory->context, memory->device, 1) {}

void SumCheck::arm(std::uint64_t seed) {
  SweepCheck::arm(seed);
  total_.clear();
}

std::optional<Mismatch> SumCheck::verify(std::uint64_t seed, std::uint64_t transfers) const {
  if (total_.read().front() == expected_(seed, transfers)) return std::nullopt;
  const Buffer& source = *memory().arenas.source;
  if (const auto bad = source.compare(0, memory().extent(), seed)) {
    return Mismatch{"the sum of all that was read is wrong: the source's byte " + std::to_string(*bad) +
                    " no longer holds its pattern"};
  }
  return Mismatch{"the sum of all that was read is wrong, though " + source.where().device.text() + " " +
                  source.where().memory + " holds its pattern"};
}

Bytes SumCheck::verified_bytes(std::uint64_t transfers) const {
  return memory().reached(transfers) * payload_;
}

SweepWork sweep_work(std::shared_ptr<const SweptMemory> memory, std::uint64_t threads, GridChoice grids) {
  auto check = std::make_unique<SweepCheck>(memory);
  return {.memory = std::move(memory),
          .grids = std::move(grids),
          .threads = std::max<std::uint64_t>(threads, 1),
          .check = std::move(check),
          .kernels = {},
          .launch = {},
          .remark = {}};
}

SweepWork sweep_work(std::shared_ptr<const SweptMemory> memory, const Flow& flow, std::uint64_t threads) {
  GridChoice grids(sweep_numbers, offered_grids(*memory, flow, threads));
  return sweep_work(std::move(memory), threads, std::move(grids));
}

SweepWork dense_work(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas) {
  auto memory = std::make_shared<const SweptMemory>(std::move(context), flow, arenas, flow.bytes);
  return sweep_work(std::move(memory), flow, std::max<Bytes>(flow.bytes / vector_bytes, 1));
}

SweepTransfer::SweepTransfer(SweepWork work) : work_(std::move(work)) {
  work_.grids.offer(own_facts());
  set_check(std::move(work_.check));
  const auto processors = static_cast<std::uint64_t>(work_.memory->context->device(device()).multiprocessors);
  in_flight_ = threads_in_flight * processors;
  own_facts().touched_bytes = work_.touched_bytes;
  work_.memory->context->load(device(), work_.kernels);
}

void SweepTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  Sweep sweep = work_.memory->all;
  sweep.first = transfers() % sweep.slots;
  sweep.repeats = repeats;
  overlaps_ = overlaps_ || (repeats > 1 && work_.threads <= in_flight_);
  const Grid& grid = work_.grids.used();
  if (grid.blocks != one_tile_each) {
    launch(stream, sweep, grid);
    count(repeats);
    return;
  }
  constexpr std::uint64_t most_repeats = 65535;  // of a grid's second dimension
  const Grid tiles = with_a_block_per_tile(grid, work_.threads);
  sweep.order = Order::tiles;
  for (std::uint64_t left = repeats; left > 0; left -= sweep.repeats) {
    sweep.first = transfers() % sweep.slots;
    sweep.repeats = std::min(left, most_repeats);
    launch(stream, sweep, tiles);
    count(sweep.repeats);
  }
}

std::vector<std::string> SweepTransfer::notes() const {
  std::vector<std::string> all = work_.memory->arenas.residences();
  if (overlaps_) all.emplace_back(repeats_overlap);
  if (work_.remark) work_.remark(all, transfers());
  return all;
}

void SweepTransfer::launch(gpuStream_t stream, const Sweep& sweep, const Grid& grid) const {
  work_.launch({stream, sweep, grid, seed(), transfers()});
  LINKSCOPE_CHECK(gpuGetLastError());
}

}  // namespace linkscope::gpu
