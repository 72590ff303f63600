// AllocationCalls: taking, or giving back, block after block; what allocate, free and their like time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/host/allocation.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"

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

}  // namespace linkscope::host
