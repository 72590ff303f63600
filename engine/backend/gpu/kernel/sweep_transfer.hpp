// SweepTransfer: what transfers by kernels that go through slots of memory have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/kernel/launch_shape.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

/// How the threads of a grid divide a slot. interleaved: each strides by the number of all threads, through every
/// repeat in turn. tiles: each block takes contiguous pieces of its own, and blockIdx.y says the repeat.
enum class Order { interleaved, tiles };

/// What a kernel sweeps over: `repeats` slots, from `first` on, round and round.
struct Sweep {
  std::byte* source = nullptr;
  std::byte* destination = nullptr;
  Bytes bytes = 0;    ///< of one slot
  Bytes vectors = 0;  ///< of 16 bytes in one slot; 0 where slots are not aligned to them
  Bytes stride = 0;   ///< from slot to slot
  std::uint64_t slots = 1;
  std::uint64_t first = 0;
  std::uint64_t repeats = 1;
  Order order = Order::interleaved;
};

/// Whether all of the flow's memory is the executor's own.
[[nodiscard]] bool is_local(const Flow& flow);

/// All repeats are one launch: the kernel loops, its threads run from one repeat into the next without waiting for
/// one another. So launch cost is paid once, as it is in nvbandwidth's kernels.
class SweepTransfer : public GpuTransfer {
 public:
  /// `span`: bytes of a slot that one transfer spreads over and that its check covers.
  SweepTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas, Bytes span);

  [[nodiscard]] int device() const override { return device_; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) final;
  void count_as_run(std::uint64_t transfers) override { touched_ = transfers; }
  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return touched_slots() * sweep_.bytes; }
  void flush() override { check_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  /// Enqueues the kernel over `sweep`.
  virtual void run(gpuStream_t stream, const Sweep& sweep) = 0;

  /// What arm() notes of a new round, for those who lay the data themselves.
  void begin_round(std::uint64_t seed);
  [[nodiscard]] GpuContext& context() const { return *context_; }
  /// The whole arena, from slot 0.
  [[nodiscard]] const Sweep& arena() const { return sweep_; }
  [[nodiscard]] Bytes extent() const { return (sweep_.slots - 1) * sweep_.stride + sweep_.bytes; }
  [[nodiscard]] const Arenas& arenas() const { return arenas_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Repeats since arm().
  [[nodiscard]] std::uint64_t touched() const { return touched_; }
  [[nodiscard]] std::uint64_t touched_slots() const;

 private:
  std::shared_ptr<GpuContext> context_;
  Arenas arenas_;
  int device_;
  PeerMapping source_;
  PeerMapping destination_;
  Sweep sweep_;
  CopyCheck check_;
  std::uint64_t seed_ = 0;
  std::uint64_t touched_ = 0;
};

}  // namespace linkscope::gpu
