// SweepTransfer: a kernel that goes through slots of memory, all repeats in one launch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/kernel/grid.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

/// How the threads of a grid divide a slot. interleaved: each strides by the number of all threads, through every
/// repeat in turn. tiles: each block takes contiguous pieces of its own, and blockIdx.y says the repeat.
enum class Order { interleaved, tiles };

/// A kernel sweeps over `repeats` slots, from `first` on, round and round.
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

/// Says whether all of the flow's memory is the executor's own.
[[nodiscard]] bool is_local(const Flow& flow);

/// A flow's memory as its executor's kernels reach it.
struct SweptMemory {
  /// `span`: bytes of a slot that one transfer spreads over.
  SweptMemory(std::shared_ptr<GpuContext> shared_context, const Flow& flow, const Arenas& ends, Bytes span);

  std::shared_ptr<GpuContext> context;
  int device;  ///< the executor
  Arenas arenas;
  PeerMapping source;
  PeerMapping destination;
  Sweep all;  ///< the whole arena, from slot 0

  [[nodiscard]] Bytes extent() const { return (all.slots - 1) * all.stride + all.bytes; }
  /// Slots that so many transfers from slot 0 on have reached.
  [[nodiscard]] std::uint64_t reached(std::uint64_t transfers) const {
    return std::min(transfers, all.slots);
  }
};

/// Arms and checks what a sweep goes over: a CopyCheck, where a method has nothing of its own to say.
class SweepCheck : public Check {
 public:
  explicit SweepCheck(std::shared_ptr<const SweptMemory> memory);

  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override;
  [[nodiscard]] Bytes verified_bytes(std::uint64_t transfers) const override;
  void flush() override { copy_.flush(); }

 protected:
  [[nodiscard]] const SweptMemory& memory() const { return *memory_; }

 private:
  std::shared_ptr<const SweptMemory> memory_;
  CopyCheck copy_;
};

/// Checks a read by the exact sum, modulo 2^64, of all that was read in every repeat. What it should be is worked out
/// from the pattern alone, without touching the memory.
class SumCheck final : public SweepCheck {
 public:
  using Expected = std::function<std::uint64_t(std::uint64_t seed, std::uint64_t transfers)>;
  /// `payload`: bytes that one transfer reads.
  SumCheck(const std::shared_ptr<const SweptMemory>& memory, Bytes payload, Expected expected);

  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override;
  [[nodiscard]] Bytes verified_bytes(std::uint64_t transfers) const override;
  /// Kernels add here what they read.
  [[nodiscard]] std::uint64_t* total() const { return total_.data(); }

 private:
  Bytes payload_;
  Expected expected_;
  DeviceWords total_;
};

/// One launch of a sweeping kernel.
struct SweepLaunch {
  gpuStream_t stream;
  const Sweep& sweep;
  const Grid& grid;         ///< of at least one block
  std::uint64_t seed;       ///< of the last arm()
  std::uint64_t transfers;  ///< that came before it since

  /// The grid's blocks for all repeats, or where the order is tiles, for each of them.
  [[nodiscard]] dim3 blocks() const {
    return {grid.blocks, sweep.order == Order::tiles ? static_cast<unsigned>(sweep.repeats) : 1U, 1U};
  }
};

/// A method's transfers are made of this.
struct SweepWork {
  std::shared_ptr<const SweptMemory> memory;
  GridChoice grids;
  std::uint64_t threads = 1;  ///< that can have something to do at once
  std::unique_ptr<SweepCheck> check;
  std::vector<const void*> kernels;  ///< loaded before a gate closes
  /// Enqueues the kernel, and nothing else.
  std::function<void(const SweepLaunch&)> launch;
  Bytes touched_bytes = 0;  ///< as in TransferFacts
  /// Adds remarks after so many transfers.
  std::function<void(std::vector<std::string>&, std::uint64_t transfers)> remark;
};

/// The caller adds kernels and launch, and a check of its own where copied bytes are not what it leaves.
SweepWork sweep_work(std::shared_ptr<const SweptMemory> memory, std::uint64_t threads, GridChoice grids);
/// Does the same with grids of sweep_numbers.
SweepWork sweep_work(std::shared_ptr<const SweptMemory> memory, const Flow& flow, std::uint64_t threads);
/// Contiguous slots of flow.bytes, of which every thread takes 16 at a time, by grids of sweep_numbers.
SweepWork dense_work(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas);

/// All repeats are one launch: the kernel loops, its threads run from one repeat into the next without waiting for one
/// another. So launch cost is paid once, as it is in nvbandwidth's kernels, and where a transfer is too small to keep
/// the GPU busy, several are under way at once: a note says so.
class SweepTransfer final : public GpuTransfer {
 public:
  explicit SweepTransfer(SweepWork work);

  [[nodiscard]] int device() const override { return work_.memory->device; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override;
  void use(const Setting& setting) override { work_.grids.use(setting); }
  [[nodiscard]] std::vector<std::string> notes() const override;

 private:
  void launch(gpuStream_t stream, const Sweep& sweep, const Grid& grid) const;

  SweepWork work_;
  std::uint64_t in_flight_ = 0;  ///< threads that the GPU has room for
  bool overlaps_ = false;        ///< whether a launch repeated a transfer of fewer
};

}  // namespace linkscope::gpu
