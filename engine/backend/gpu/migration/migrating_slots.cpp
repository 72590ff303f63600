// Filling, bringing home and checking migrating slots.
#include "backend/gpu/migration/migrating_slots.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/slot_runs.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/memory_room.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

// Every transfer of a start needs a slot whose pages are still at home. Faults of 16 us and more fill a sample of half
// a millisecond.
constexpr std::uint64_t most_slots = 32;
constexpr Bytes most_rotated = 256 * MiB;

/// The GPU that ManagedMemory counts the buffer for.
int counted_on(const GpuContext& context, const Endpoint& where) {
  return where.device.kind == DeviceKind::gpu ? where.device.index : context.nearest_gpu(where.device.index);
}

}  // namespace

Method migration_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                     std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make) {
  Method row = gpu_row(context, spec, std::move(parameters), std::move(supports), std::move(make));
  row.footprint = [](const Flow& flow) { return in_blocks(flow.bytes); };
  row.rotation_bytes = [](const Flow& flow) {
    const Bytes slot = in_blocks(flow.bytes);
    return std::min(most_slots * slot, std::max(most_rotated, slot));
  };
  return row;
}

Support can_migrate(GpuContext& context, const Endpoint& home, const DeviceId& visitor) {
  if (!home.traits.migrates && !home.traits.system_pages)
    return Support::no(home.memory +
                       " memory does not migrate: managed does, and pageable where GPUs can reach it");
  if (visitor == home.device) return Support::no("the pages are at " + visitor.text() + " already");
  if (visitor.kind == DeviceKind::numa && home.device.kind == DeviceKind::numa)
    return Support::no("pages move between the host and a GPU, or between GPUs");
  if (visitor.kind == DeviceKind::numa) return Support::yes();
  if (const Support here = context.has(visitor); !here) return here;
  return context.reachable(visitor.index, home);
}

Support can_touch(GpuContext& context, const Flow& flow, std::int64_t threads) {
  if (!flow.source || flow.destination)
    return Support::no(flow.method + " takes a source only: pages come to the executor");
  if (const Support moves = can_migrate(context, *flow.source, flow.executor); !moves) return moves;
  if (flow.executor.kind == DeviceKind::gpu) return Support::yes();
  if (const Support executor = context.host().can_execute(flow.executor); !executor) return executor;
  const auto cpus =
      static_cast<std::int64_t>(context.host().topology().find(flow.executor.index)->cpus.size());
  if (threads <= cpus) return Support::yes();
  return Support::no(flow.executor.text() + " has " + std::to_string(cpus) + " CPUs, not " +
                     std::to_string(threads));
}

void migrate(GpuContext& context, std::byte* address, Bytes bytes, const DeviceId& home) {
  const bool on_gpu = home.kind == DeviceKind::gpu;
  const bool several_nodes = context.host().topology().nodes().size() > 1;
  const int keeper = on_gpu ? home.index : context.nearest_gpu(home.index);
  const gpuStream_t stream = context.service_stream(keeper);
  check(vendor::prefetch(address, bytes, on_gpu ? home.index : -1, several_nodes ? home.index : -1, stream),
        "gpuMemPrefetchAsync");
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

MigratingSlots::MigratingSlots(std::shared_ptr<GpuContext> context, Buffer& arena, Bytes bytes,
                               Rotation rotation, const DeviceId& visitor)
    : context_(std::move(context)),
      arena_(arena),
      base_(arena.data()),
      bytes_(bytes),
      rotation_(rotation),
      check_(&arena, nullptr, bytes, rotation),
      advice_(parse_advice(arena.where().advice)) {
  reserve_room(visitor);
}

void MigratingSlots::reserve_room(const DeviceId& visitor) {
  const Endpoint& where = arena_.where();
  if (visitor.kind == DeviceKind::numa) {
    host::MemoryRoom::wait_for(arena_.bytes(), std::nullopt);
    return;
  }
  if (where.traits.migrates && visitor.index == counted_on(*context_, where)) return;
  room_.emplace(context_, visitor.index, arena_.bytes());
}

/// Pages that are read mostly leave a copy with every reader, which a prefetch alone would not take from it.
void MigratingSlots::send_home(std::byte* address, Bytes bytes) {
  const bool copied = advice_.contains(Advice::read_mostly);
  if (copied) LINKSCOPE_CHECK(vendor::not_read_mostly(address, bytes));
  migrate(*context_, address, bytes, arena_.where().device);
  if (copied) LINKSCOPE_CHECK(vendor::read_mostly(address, bytes));
}

void MigratingSlots::fill(std::uint64_t seed) {
  check_.arm(seed);
  astray_ = true;
  home_ = 0;
}

/// Whole stretches at a time: a call for each slot costs more than what it moves where slots are small. And what the
/// driver had come along with a slot, out of the gap behind it, goes home with it.
void MigratingSlots::bring_home(std::uint64_t done) {
  const std::uint64_t from = astray_ ? 0 : home_;
  const std::uint64_t to = astray_ ? rotation_.slots : done;
  for (const SlotRun& run : slot_runs(from, to, rotation_.slots)) {
    if (run.count == 0) continue;
    std::byte* const begin = at(run.first);
    const auto left = arena_.bytes() - static_cast<Bytes>(begin - base_);
    send_home(begin, std::min(run.count * std::max(rotation_.stride, bytes_), left));
  }
  astray_ = false;
  home_ = done;
}

std::uint64_t MigratingSlots::touched(std::uint64_t done) const { return std::min(done, rotation_.slots); }

std::optional<Mismatch> MigratingSlots::compare(std::uint64_t seed, std::uint64_t done) const {
  for (std::uint64_t slot = 0; slot < touched(done); ++slot) {
    const auto bad = arena_.compare(slot * rotation_.stride, bytes_, seed_of(seed, slot));
    if (!bad) continue;
    return Mismatch{"byte " + std::to_string(*bad) + " of " + std::to_string(bytes_) + " in slot " +
                    std::to_string(slot) + " of " + std::to_string(rotation_.slots) +
                    " did not survive the migration from " + arena_.where().device.text()};
  }
  return std::nullopt;
}

std::vector<std::string> MigratingSlots::notes() const {
  std::vector<std::string> found;
  if (std::string pages = arena_.residence(); !pages.empty()) found.push_back(std::move(pages));
  const Endpoint& where = arena_.where();
  const bool bound = where.placement == Placement::bound && where.traits.migrates;
  if (bound || advice_.contains(Advice::preferred_location) || advice_.contains(Advice::accessed_by)) {
    found.emplace_back(
        "by its placement or advice the driver may map pages where they are instead of moving them");
  }
  if (where.traits.system_pages && context_->device(counted_on(*context_, where)).host_tables) {
    found.emplace_back("GPUs use the host's page tables: pages may be used where they are instead of moving");
  }
  return found;
}

}  // namespace linkscope::gpu
