// Filling, bringing home and checking migrating slots.
#include "backend/gpu/migrating_slots.hpp"

#include <algorithm>

#include "backend/gpu/check.hpp"
#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t most_slots = 64;
constexpr Bytes most_rotated = 256 * MiB;

/// The GPU that ManagedMemory counts the buffer for.
int counted_on(const Context& context, const Endpoint& where) {
  return where.device.kind == DeviceKind::gpu ? where.device.index : context.nearest_gpu(where.device.index);
}

bool is_system_memory(const Endpoint& where) { return where.memory == "pageable" || where.memory == "huge"; }

}  // namespace

Bytes migration_footprint(const Flow& flow) {
  return (flow.bytes + migration_block - 1) / migration_block * migration_block;
}

Bytes migration_rotation(const Flow& flow) {
  const Bytes slot = migration_footprint(flow);
  return std::min(most_slots * slot, std::max(most_rotated, slot));
}

Support can_migrate(Context& context, const Endpoint& home, const DeviceId& visitor) {
  if (home.memory != "managed" && !is_system_memory(home))
    return Support::no(home.memory +
                       " memory does not migrate: managed does, and pageable where GPUs can reach it");
  if (visitor == home.device) return Support::no("the pages are at " + visitor.text() + " already");
  if (visitor.kind == DeviceKind::numa && home.device.kind == DeviceKind::numa)
    return Support::no("pages move between the host and a GPU, or between GPUs");
  if (visitor.kind == DeviceKind::numa) return Support::yes();
  if (const Support here = context.has(visitor); !here) return here;
  return context.reachable(visitor.index, home);
}

void migrate(Context& context, std::byte* address, Bytes bytes, const DeviceId& home) {
  const bool on_gpu = home.kind == DeviceKind::gpu;
  const bool several_nodes = context.host().topology().nodes().size() > 1;
  const int keeper = on_gpu ? home.index : context.nearest_gpu(home.index);
  const gpuStream_t stream = context.service_stream(keeper);
  check(vendor::prefetch(address, bytes, on_gpu ? home.index : -1, several_nodes ? home.index : -1, stream),
        "gpuMemPrefetchAsync");
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

MigratingSlots::MigratingSlots(std::shared_ptr<Context> context, Buffer& arena, Bytes bytes,
                               Rotation rotation, const DeviceId& visitor)
    : context_(std::move(context)),
      arena_(arena),
      base_(arena.data()),
      bytes_(bytes),
      rotation_(rotation),
      check_(&arena, nullptr, bytes, rotation) {
  const Endpoint& where = arena.where();
  const bool counted = where.memory == "managed" && visitor.index == counted_on(*context_, where);
  if (visitor.kind != DeviceKind::gpu || counted) return;
  context_->reserve_managed(visitor.index, arena.bytes());
  reserved_on_ = visitor.index;
}

MigratingSlots::~MigratingSlots() {
  if (reserved_on_ >= 0) context_->release_managed(reserved_on_, arena_.bytes());
}

void MigratingSlots::fill(std::uint64_t seed) {
  check_.arm(seed);
  astray_ = true;
  home_ = 0;
}

void MigratingSlots::bring_home(std::uint64_t done) {
  const DeviceId& home = arena_.where().device;
  const std::uint64_t away = done - home_;
  if (astray_ || away >= rotation_.slots) {
    migrate(*context_, base_, (rotation_.slots - 1) * rotation_.stride + bytes_, home);
  } else {
    for (std::uint64_t turn = home_; turn < done; ++turn) migrate(*context_, at(turn), bytes_, home);
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
  if (std::string where = arena_.residence(); !where.empty()) found.push_back(std::move(where));
  if (arena_.where().placement == Placement::bound && arena_.where().memory == "managed") {
    found.emplace_back(
        "the source is bound: the driver may map its pages where they are instead of moving them");
  }
  return found;
}

}  // namespace linkscope::gpu
