// Allocation: a kind of thing that calls take and give back: memory above all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/host/workers.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
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
  HeldBlocks(std::unique_ptr<Allocation> allocation, std::uint64_t capacity, WorkerPool& workers);
  ~HeldBlocks();
  HeldBlocks(const HeldBlocks&) = delete;
  HeldBlocks& operator=(const HeldBlocks&) = delete;

  [[nodiscard]] std::uint64_t capacity() const { return blocks_.size(); }
  /// Block `index`; null where it is not taken.
  [[nodiscard]] Block at(std::uint64_t index) const { return blocks_[index]; }
  [[nodiscard]] Allocation& allocation() const { return *allocation_; }

  /// The measured calls, for blocks [from, from + count), by the calling thread. The code as of Allocation.
  [[nodiscard]] int take_here(std::uint64_t from, std::uint64_t count) noexcept;
  [[nodiscard]] int give_back_here(std::uint64_t from, std::uint64_t count) noexcept;
  /// Takes block `index`. Throws Allocation::failure.
  void take_one(std::uint64_t index);
  /// Takes what of the first `count` is missing; gives back what of it is there. Throws Allocation::failure.
  void take_first(std::uint64_t count);
  void give_back_first(std::uint64_t count);
  /// Says that blocks [0, count) have gone by give_back_here().
  void forget_first(std::uint64_t count);
  /// Allocation::inspect of the first `count`, and that each is there.
  [[nodiscard]] std::optional<std::string> inspect_first(std::uint64_t count) const;

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

}  // namespace linkscope::host
