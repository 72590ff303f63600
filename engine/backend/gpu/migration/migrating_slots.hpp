// MigratingSlots: the slots of an arena whose pages a transfer moves away, and how they come home. MigratingTransfer:
// what transfers by GPUs and by CPUs that do so have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/memory/memories.hpp"
#include "base/units.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

/// Slots are so far apart that none shares a block with its neighbour: drivers fetch up to 2 MiB around a fault, and
/// AMD and NVIDIA both map that much as one page.
inline constexpr Bytes migration_block = 2 * MiB;

/// `bytes` in whole blocks.
[[nodiscard]] constexpr Bytes in_blocks(Bytes bytes) { return round_up(bytes, migration_block); }

/// Says whether the pages of `home` move to and from `visitor`, a GPU or a NUMA node, when it touches or asks for them.
[[nodiscard]] Support can_migrate(GpuContext& context, const Endpoint& home, const DeviceId& visitor);

/// Says whether the executor, a GPU or `threads` CPU threads of a node, can touch the source's pages so that they come.
[[nodiscard]] Support can_touch(GpuContext& context, const Flow& flow, std::int64_t threads);

/// The slots' home is the device of the buffer's endpoint. They count the memory that the visitor must have free for
/// all of the arena.
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

/// `Base`: GpuTransfer or host::HostTransfer. `Pages`: a Check with slots() of its own, and with find_wrong(transfers,
/// found), which says what is wrong with what the work itself found, as a sum.
template <class Base, class Pages>
class MigratingTransfer : public Base {
 public:
  template <class... Arguments>
  explicit MigratingTransfer(std::unique_ptr<Pages> pages, Arguments... arguments)
      : Base(arguments...), pages_(*pages) {
    this->set_check(std::move(pages));
  }

  void restore() override { pages_.slots().bring_home(this->transfers()); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    const auto wrong = pages_.find_wrong(this->transfers(), found());
    return wrong ? wrong : Base::verify(seed);
  }
  [[nodiscard]] std::vector<std::string> notes() const override { return pages_.slots().notes(); }

 protected:
  /// The sum of all that the work found since arm().
  [[nodiscard]] virtual std::uint64_t found() const = 0;
  [[nodiscard]] const Pages& pages() const { return pages_; }

 private:
  Pages& pages_;  ///< this transfer's check
};

/// The row of a method whose transfers have pages migrate.
[[nodiscard]] Method migration_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                                   std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);

/// Makes transfers of the one class or the other, as the executor is a GPU or a CPU.
template <class ByGpu, class ByCpu>
std::unique_ptr<Transfer> make_by_executor(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                           const Arenas& arenas) {
  if (flow.executor.kind == DeviceKind::gpu) return std::make_unique<ByGpu>(context, flow, arenas);
  return std::make_unique<ByCpu>(context, flow, arenas);
}

}  // namespace linkscope::gpu
