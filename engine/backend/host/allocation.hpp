// Allocation: a kind of thing that calls take and give back: memory above all; what allocate, free and their like time.
// first_touches(): what it costs to bring fresh pages into being.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/host/context.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "model/method.hpp"
#include "model/traits.hpp"

namespace linkscope::host {

/// The address of what was taken, or a handle as wide.
using Block = std::byte*;

/// take() and give_back() are the measured calls, one for each block, back to back, and nothing else.
class Allocation {
 public:
  virtual ~Allocation() = default;
  /// Fills `blocks`. 0, or the code of the first failure, where it ends; what it did not fill is as it was.
  [[nodiscard]] virtual int take(std::span<Block> blocks) noexcept = 0;
  /// Gives `blocks` back, all of which were taken. 0, or the code of the last failure.
  [[nodiscard]] virtual int give_back(std::span<const Block> blocks) noexcept = 0;
  /// Returns the error that a code stands for.
  [[nodiscard]] virtual Error failure(int code) const = 0;
  /// Unmeasured, between starts: waits for what the calls left running.
  virtual void settle() {}
  /// Says in one line what is wrong with what was taken; nothing where all is as asked. Here: each block is apart
  /// from all others by its size().
  [[nodiscard]] virtual std::optional<std::string> inspect(std::span<const Block> blocks) const;

 protected:
  [[nodiscard]] virtual Bytes size() const = 0;
};

/// Up to a capacity of blocks, taken from the front on. Calls that are not measured are made on worker 0, where those
/// that are will most likely be made: an allocator may keep things by thread.
class HeldBlocks {
 public:
  /// `workers` outlives it.
  HeldBlocks(std::unique_ptr<Allocation> allocation, std::uint64_t capacity, WorkerPool& workers)
      : allocation_(std::move(allocation)), blocks_(capacity, nullptr), workers_(workers) {}
  ~HeldBlocks() {
    try {
      give_back_first(blocks_.size());
    } catch (const std::exception&) {
      return;  // the process keeps what the system will not take
    }
  }

  /// Block `index`; null where it is not taken.
  [[nodiscard]] Block at(std::uint64_t index) const { return blocks_[index]; }
  [[nodiscard]] Allocation& allocation() const { return *allocation_; }

  /// The measured calls, for blocks [from, from + count), by the calling thread. The code as of Allocation.
  [[nodiscard]] int take_here(std::uint64_t from, std::uint64_t count) noexcept {
    return allocation_->take(std::span(blocks_).subspan(from, count));
  }
  [[nodiscard]] int give_back_here(std::uint64_t from, std::uint64_t count) noexcept {
    return allocation_->give_back(std::span(blocks_).subspan(from, count));
  }
  /// Takes block `index`. Throws Allocation::failure.
  void take_one(std::uint64_t index) {
    int code = 0;
    workers_.run([&] { code = take_here(index, 1); });
    if (code != 0) throw allocation_->failure(code);
  }
  /// Takes what of the first `count` is missing; gives back what of it is there. Throws Allocation::failure.
  void take_first(std::uint64_t count) {
    int code = 0;
    workers_.run([&] {
      for (std::uint64_t i = 0; i < count && code == 0; ++i) {
        if (blocks_[i] == nullptr) code = take_here(i, 1);
      }
    });
    if (code != 0) throw allocation_->failure(code);
    allocation_->settle();
  }
  void give_back_first(std::uint64_t count) {
    allocation_->settle();
    int code = 0;
    workers_.run([&] {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (blocks_[i] != nullptr) code = std::max(code, give_back_here(i, 1));
      }
    });
    forget_first(count);
    if (code != 0) throw allocation_->failure(code);
    allocation_->settle();
  }
  /// Says that blocks [0, count) have gone by give_back_here().
  void forget_first(std::uint64_t count) { std::fill_n(blocks_.begin(), count, nullptr); }
  /// Allocation::inspect of the first `count`, and that each is there.
  [[nodiscard]] std::optional<std::string> inspect_first(std::uint64_t count) const {
    const auto taken = std::span(blocks_).first(count);
    if (std::find(taken.begin(), taken.end(), nullptr) != taken.end()) return "a call gave nothing";
    return allocation_->inspect(taken);
  }

 private:
  std::unique_ptr<Allocation> allocation_;
  std::vector<Block> blocks_;
  WorkerPool& workers_;
};

/// That many blocks of that size.
struct BlockCount {
  Bytes bytes = 0;
  std::uint64_t count = 1;
};

/// Blocks of `bytes` that a start may hold of memory of which `room` is left: at most `most`, a share of the room and
/// of what is quick to provide, but at least one. `what` names the memory. Throws Error{no_memory} where none fits.
[[nodiscard]] BlockCount blocks_to_hold(Bytes bytes, std::optional<Bytes> room, std::uint64_t most,
                                        const std::string& what);
/// Returns the same for host memory, of `node` if one is given, in the whole pages that blocks of `memory` fill once
/// they are touched; waits for it as MemoryRoom does.
[[nodiscard]] BlockCount host_blocks_to_hold(const MemoryTraits& memory, Bytes bytes, std::optional<int> node,
                                             std::uint64_t most);

/// Blocks of system pages, huge ones or not, as applications allocate them: malloc; huge pages by
/// MAP_HUGETLB where `node` has enough of them free, else by aligned_alloc and madvise.
[[nodiscard]] std::unique_ptr<Allocation> allocate_on_host(const MemoryTraits& memory, const BlockCount& many,
                                                           int node);
/// Blocks of such pages that nobody has touched, mapped anew each time; bound to `bound` if one is given.
[[nodiscard]] std::unique_ptr<Allocation> map_on_host(const MemoryTraits& memory, const BlockCount& many,
                                                      int node, std::optional<int> bound);

/// Which of an allocation's two calls is measured; the other one is made between starts.
enum class Measured { take, give_back };

/// Says whether one block more is kept as long as the transfer lives. Allocators provide small blocks out of larger
/// ones, and give these up when the last of their blocks goes: without a keeper, the first call of a start would pay
/// for that.
enum class Keeper { none, one };

/// One thread on `node` makes the call once per transfer. Blocks are held over a whole start, `capacity` at most, so that
/// no call finds what the one before has just given up.
[[nodiscard]] std::unique_ptr<Transfer> allocation_calls(HostContext& context, int node,
                                                         std::unique_ptr<Allocation> allocation,
                                                         std::uint64_t capacity, Measured measured,
                                                         Keeper keeper = Keeper::none);

/// Tells whether `flow` is a call on pageable or huge memory: no source, and a destination that names it on a NUMA
/// node.
[[nodiscard]] Support names_host_memory(const Flow& flow);
/// The calls on such memory by a CPU of `node`. Throws Error{no_memory} where not one block fits.
[[nodiscard]] std::unique_ptr<Transfer> make_host_calls(HostContext& context, int node, const Flow& flow,
                                                        Measured measured);

/// Blocks that nobody has touched yet; each is touched once in a start, and replaced before the next.
class FreshBlocks {
 public:
  FreshBlocks(HostContext& context, int node, std::unique_ptr<Allocation> allocation, const BlockCount& many);

  /// Chooses value() for a round.
  void arm(std::uint64_t seed) { value_ = 1 + static_cast<int>(seed % 255); }
  /// Replaces the first `touched` blocks by fresh ones. Throws Allocation::failure.
  void renew(std::uint64_t touched);
  /// Block `index`; null beyond what is held.
  [[nodiscard]] Block at(std::uint64_t index) const {
    return index < many_.count ? blocks_.at(index) : nullptr;
  }
  [[nodiscard]] const BlockCount& many() const { return many_; }
  /// Returns what every byte of a touched block shall hold: never zero, as fresh pages are.
  [[nodiscard]] int value() const { return value_; }
  /// The first byte of the first `touched` blocks, read by a CPU, that does not hold it.
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t touched) const;
  [[nodiscard]] Bytes verified_bytes(std::uint64_t touched) const {
    return std::min(touched, many_.count) * many_.bytes;
  }

 private:
  HeldBlocks blocks_;
  BlockCount many_;
  WorkerPool& workers_;
  int value_ = 1;
};

/// memset of whole blocks by `threads` CPUs, each over whole pages of its own; by fewer where there are fewer pages.
[[nodiscard]] std::unique_ptr<Transfer> first_touches(int node, std::int64_t threads,
                                                      std::unique_ptr<FreshBlocks> blocks);

/// Fresh pageable or huge blocks as the flow's destination says, mapped from `node`. Throws Error{no_memory}.
[[nodiscard]] std::unique_ptr<FreshBlocks> fresh_host_blocks(HostContext& context, int node,
                                                             const Flow& flow);

}  // namespace linkscope::host
