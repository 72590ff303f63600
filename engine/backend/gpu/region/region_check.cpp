// Arms and verifies the memory of transfers that move a region.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/region/region_transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes piece_bytes = 16 * MiB;

class RegionCheck final : public Check {
 public:
  RegionCheck(std::shared_ptr<GpuContext> context, int executor, const Arenas& arenas, const Region& region,
              const RowPlaces& places)
      : context_(std::move(context)), device_(executor), arenas_(arenas), region_(region) {
    const Rotation& rotation = arenas.rotation;
    const bool apart = is_stacked()
                           ? rotation.slots <= region.stackable()
                           : rotation.stride >= region.footprint() && rotation.stride % word_bytes == 0;
    if (rotation.slots > 1 && !apart) {
      throw Error(Fault::bad_input, "slots of " + std::to_string(region.footprint()) + " B cannot be " +
                                        std::to_string(rotation.stride) + " B apart");
    }
    for (const Buffer* buffer : {arenas.source, arenas.destination}) {
      if (buffer == nullptr || buffer->bytes() < extent()) {
        throw Error(Fault::bad_input,
                    "a region's slots need " + std::to_string(extent()) + " B at either end");
      }
    }
    const DeviceId& holder = arenas.destination->where().device;
    if (holder.kind == DeviceKind::gpu) device_ = holder.index;
    if (places.empty()) return;
    std::vector<std::uint64_t> words(places.size());
    for (const RowPlace& place : places)
      words[place.destination / region.pitch] = place.source / region.pitch;
    origins_.emplace(*context_, device_, words.size()).write(words);
  }

  void arm(std::uint64_t seed) override {
    arenas_.source->fill(0, extent(), seed);
    arenas_.destination->poison(0, extent());
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed,
                                               std::uint64_t slots_touched) const override;
  /// The bytes between the region's are compared as well.
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const override {
    return (is_stacked() ? 1 : std::min(slots_touched, arenas_.rotation.slots)) * region_.footprint();
  }
  void flush() override {
    arenas_.source->flush(0, extent());
    arenas_.destination->flush(0, extent());
  }

 private:
  [[nodiscard]] Bytes extent() const {
    return (arenas_.rotation.slots - 1) * arenas_.rotation.stride + region_.footprint();
  }
  [[nodiscard]] const std::uint64_t* origins() const { return origins_ ? origins_->data() : nullptr; }
  [[nodiscard]] bool is_stacked() const {
    return arenas_.rotation.slots > 1 && arenas_.rotation.stride == region_.rows * region_.pitch &&
           region_.planes > 1;
  }
  /// The first bad offset in `region`, which is at `at`.
  [[nodiscard]] std::optional<Bytes> compare(Bytes at, const Region& region, std::uint64_t seed) const;
  [[nodiscard]] std::optional<Bytes> compare_copied(const std::byte* at, const Region& region,
                                                    std::uint64_t seed) const;
  [[nodiscard]] Mismatch describe(std::uint64_t slot, const Region& region, Bytes offset) const;

  std::shared_ptr<GpuContext> context_;
  int device_;  ///< the GPU that compares
  Arenas arenas_;
  Region region_;
  std::optional<DeviceWords> origins_;  ///< of each row the source's row that belongs there
};

std::optional<Mismatch> RegionCheck::verify(std::uint64_t seed, std::uint64_t slots_touched) const {
  context_->use(device_);
  const std::uint64_t slots = std::min(slots_touched, arenas_.rotation.slots);
  if (is_stacked()) {  // one pattern covers the whole arena: together they are one region
    const Region all = region_.stacked(slots);
    const auto bad = slots == 0 ? std::nullopt : compare(0, all, seed);
    return bad ? std::optional(describe(0, all, *bad)) : std::nullopt;
  }
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const std::uint64_t slot_seed = shifted_seed(seed, slot * (arenas_.rotation.stride / word_bytes));
    if (const auto bad = compare(slot * arenas_.rotation.stride, region_, slot_seed))
      return describe(slot, region_, *bad);
  }
  return std::nullopt;
}

std::optional<Bytes> RegionCheck::compare(Bytes at, const Region& region, std::uint64_t seed) const {
  if (context_->reachable(device_, arenas_.destination->where())) {
    const PeerMapping arena = context_->reach(device_, *arenas_.destination);
    return compare_region(*context_, device_, arena.address + at, 0, region.footprint(), region, seed,
                          origins());
  }
  return compare_copied(arenas_.destination->data() + at, region, seed);
}

std::optional<Bytes> RegionCheck::compare_copied(const std::byte* at, const Region& region,
                                                 std::uint64_t seed) const {
  const Bytes whole = std::min(piece_bytes, region.footprint());
  const DeviceWords piece(*context_, device_, (whole + word_bytes - 1) / word_bytes);
  auto* window = reinterpret_cast<std::byte*>(piece.data());
  const gpuStream_t stream = context_->service_stream(device_);
  for (Bytes first = 0; first < region.footprint(); first += piece_bytes) {
    const Bytes length = std::min(piece_bytes, region.footprint() - first);
    LINKSCOPE_CHECK(gpuMemcpyAsync(window, at + first, length, gpuMemcpyDefault, stream));
    const auto bad = compare_region(*context_, device_, window, first, length, region, seed, origins());
    if (bad) return first + *bad;
  }
  return std::nullopt;
}

Mismatch RegionCheck::describe(std::uint64_t slot, const Region& region, Bytes offset) const {
  const Endpoint& where = arenas_.destination->where();
  const Bytes in_plane = offset % region.plane_pitch;
  const Bytes row = in_plane / region.pitch;
  std::string what = "byte " + std::to_string(in_plane % region.pitch) + " of row " + std::to_string(row) +
                     " of plane " + std::to_string(offset / region.plane_pitch) + " (offset " +
                     std::to_string(offset) + ")";
  if (arenas_.rotation.slots > 1)
    what += " in slot " + std::to_string(is_stacked() ? row / region_.rows : slot);
  what += region.contains(offset) ? " arrived wrong in " : ", outside the region, was overwritten in ";
  return {what + where.device.text() + " " + where.memory};
}

}  // namespace

std::unique_ptr<Check> region_check(const std::shared_ptr<GpuContext>& context, int executor,
                                    const Arenas& arenas, const Region& region, const RowPlaces& places) {
  return std::make_unique<RegionCheck>(context, executor, arenas, region, places);
}

}  // namespace linkscope::gpu
