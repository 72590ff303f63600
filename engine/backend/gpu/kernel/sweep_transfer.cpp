// Slots and rounds of sweeping transfers.
#include "backend/gpu/kernel/sweep_transfer.hpp"

#include <algorithm>

#include "backend/gpu/copy/copy_path.hpp"

namespace linkscope::gpu {
namespace {

bool is_aligned(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % vector_bytes == 0;
}

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
  const bool aligned = is_aligned(sweep.source) && is_aligned(sweep.destination) &&
                       (sweep.slots == 1 || sweep.stride % vector_bytes == 0);
  sweep.vectors = aligned ? span / vector_bytes : 0;
  return sweep;
}

}  // namespace

bool is_local(const Flow& flow) {
  const auto here = [&flow](const std::optional<Endpoint>& end) {
    return !end || end->device == flow.executor;
  };
  return here(flow.source) && here(flow.destination);
}

SweepTransfer::SweepTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                             Bytes span)
    : context_(std::move(context)),
      arenas_(arenas),
      device_(flow.executor.index),
      source_(reach(*context_, device_, arenas.source)),
      destination_(reach(*context_, device_, arenas.destination)),
      sweep_(sweep_of(source_.address, destination_.address, arenas.rotation, span)),
      check_(arenas.source, arenas.destination, span, arenas.rotation) {}

void SweepTransfer::begin_round(std::uint64_t seed) {
  seed_ = seed;
  touched_ = 0;
}

void SweepTransfer::arm(std::uint64_t seed) {
  check_.arm(seed);
  settle_caches(arenas_);
  begin_round(seed);
}

std::optional<Mismatch> SweepTransfer::verify(std::uint64_t seed) const {
  return check_.verify(seed, touched_slots());
}

void SweepTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  Sweep sweep = sweep_;
  sweep.first = touched_ % sweep_.slots;
  sweep.repeats = repeats;
  run(stream, sweep);
  touched_ += repeats;
}

std::uint64_t SweepTransfer::touched_slots() const { return std::min(touched_, sweep_.slots); }

std::vector<std::string> SweepTransfer::notes() const { return residences(arenas_); }

}  // namespace linkscope::gpu
