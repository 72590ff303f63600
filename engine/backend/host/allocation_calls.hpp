// AllocationCalls: taking, or giving back, block after block; what allocate, free and their like time. FirstTouchTransfer:
// what it costs to bring fresh pages into being.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/host/allocation.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// Which of an allocation's two calls is measured; the other one is made between starts.
enum class Measured { take, give_back };

/// Says whether one block more is kept as long as the transfer lives. Allocators provide small blocks out of larger
/// ones, and give these up when the last of their blocks goes: without a keeper, the first call of a start would pay
/// for that.
enum class Keeper { none, one };

/// One thread makes the call once per transfer. Blocks are held over a whole start, `capacity` at most, so that no call
/// finds what the one before has just given up.
class AllocationCalls final : public HostTransfer {
 public:
  /// The thread runs on `node`.
  AllocationCalls(HostContext& context, int node, std::unique_ptr<Allocation> allocation,
                  std::uint64_t capacity, Measured measured, Keeper keeper = Keeper::none);
  ~AllocationCalls() override;

  void arm(std::uint64_t seed) override;
  void restore() override;
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  /// The addresses, which is all there is to check.
  [[nodiscard]] Bytes verified_bytes() const override { return used_ * sizeof(Block); }

 private:
  void inspect();

  HeldBlocks blocks_;  ///< the kept one last
  std::uint64_t capacity_;
  Measured measured_;
  std::uint64_t used_ = 0;            ///< since restore()
  int code_ = 0;                      ///< of the first call that failed since arm()
  std::optional<std::string> wrong_;  ///< what was found wrong before blocks were given back
};

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
class FirstTouchTransfer final : public HostTransfer {
 public:
  FirstTouchTransfer(int node, std::int64_t threads, std::unique_ptr<FreshBlocks> blocks);

  void arm(std::uint64_t seed) override;
  void restore() override;
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return blocks_->verified_bytes(touched()); }

 private:
  [[nodiscard]] std::uint64_t touched() const { return transfers() - renewed_at_; }

  std::unique_ptr<FreshBlocks> blocks_;
  std::uint64_t renewed_at_ = 0;  ///< transfers() when blocks were last renewed
};

/// Fresh pageable or huge blocks as the flow's destination says, mapped from `node`. Throws Error{no_memory}.
[[nodiscard]] std::unique_ptr<FreshBlocks> fresh_host_blocks(HostContext& context, int node,
                                                             const Flow& flow);

}  // namespace linkscope::host
