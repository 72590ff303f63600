// MigratingSlots: the slots of an arena whose pages a transfer moves away, and how they come home.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "base/units.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

/// Slots are so far apart that none shares a block with its neighbour: drivers fetch up to 2 MiB around a fault, and AMD
/// and NVIDIA both map that much as one page.
inline constexpr Bytes migration_block = 2 * MiB;

/// `bytes` in whole blocks.
[[nodiscard]] constexpr Bytes in_blocks(Bytes bytes) { return round_up(bytes, migration_block); }

/// Whether the pages of `home` move to and from `visitor`, a GPU or a NUMA node, when it touches or asks for them.
[[nodiscard]] Support can_migrate(GpuContext& context, const Endpoint& home, const DeviceId& visitor);

/// Whether the executor, a GPU or `threads` CPU threads of a node, can touch the source's pages so that they come.
[[nodiscard]] Support can_touch(GpuContext& context, const Flow& flow, std::int64_t threads);

/// Runs `piece` on parts of [0, length), whole pages each, by the CPUs of `node`.
void share_among_cpus(const GpuContext& context, int node, Bytes length,
                      const std::function<void(Bytes offset, Bytes length)>& piece);

/// The slots' home is the device of the buffer's endpoint. They count the memory that the visitor must have free for all
/// of the arena.
class MigratingSlots {
 public:
  /// `arena` outlives it. Throws Error{no_memory} where the visitor's memory does not hold what may come.
  MigratingSlots(std::shared_ptr<GpuContext> context, Buffer& arena, Bytes bytes, Rotation rotation,
                 const DeviceId& visitor);

  /// Transfers that find their pages at home after bring_home().
  [[nodiscard]] std::uint64_t count() const { return rotation_.slots; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// The slot of transfer number `turn` since fill().
  [[nodiscard]] std::byte* at(std::uint64_t turn) const {
    return base_ + turn % rotation_.slots * rotation_.stride;
  }

  /// Lays the pattern of `seed` into all slots, wherever that leaves their pages.
  void fill(std::uint64_t seed);
  /// Moves the pages home, and nowhere else, of all that `done` transfers since fill() have touched, and waits.
  void bring_home(std::uint64_t done);
  /// Slots that `done` transfers have touched.
  [[nodiscard]] std::uint64_t touched(std::uint64_t done) const;
  /// Compares the slots that `done` transfers have touched with the pattern.
  [[nodiscard]] std::optional<Mismatch> compare(std::uint64_t seed, std::uint64_t done) const;
  /// The seed of the pattern in `slot` alone.
  [[nodiscard]] std::uint64_t seed_of(std::uint64_t seed, std::uint64_t slot) const {
    return check_.slot_seed(seed, slot);
  }
  void flush() { check_.flush(); }
  /// Says where the pages are, and what may keep them from moving.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void reserve_room(const DeviceId& visitor);
  void send_home(std::byte* address, Bytes bytes);

  std::shared_ptr<GpuContext> context_;
  Buffer& arena_;
  std::byte* base_;
  Bytes bytes_;
  Rotation rotation_;
  CopyCheck check_;
  std::set<Advice> advice_;
  std::optional<ManagedRoom> room_;  ///< for what may come to a GPU that does not count the arena already
  bool astray_ = true;               ///< any page may be anywhere
  std::uint64_t home_ = 0;           ///< turns whose pages were brought home
};

/// Moves `bytes` at `address` to `home` by a prefetch and waits for its end.
void migrate(GpuContext& context, std::byte* address, Bytes bytes, const DeviceId& home);

}  // namespace linkscope::gpu
