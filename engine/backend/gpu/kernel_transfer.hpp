// KernelTransfer: what transfers by kernels that stride over slots of memory have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/launch_shape.hpp"
#include "backend/gpu/transfer.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::gpu {

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
};

/// All repeats are one launch: the kernel loops, its threads run from one repeat into the next without waiting for
/// one another. So launch cost is paid once, as it is in nvbandwidth's kernels.
class KernelTransfer : public GpuTransfer {
 public:
  KernelTransfer(std::shared_ptr<Context> context, const Flow& flow, const Arenas& arenas);

  [[nodiscard]] int device() const override { return device_; }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) final;
  void arm(std::uint64_t seed) override;
  [[nodiscard]] Bytes verified_bytes() const override { return touched_slots() * sweep_.bytes; }
  void flush() override { check_.flush(); }
  [[nodiscard]] std::vector<Setting> candidates() const override;
  void use(const Setting& setting) override { shape_ = LaunchShape::from(setting); }
  [[nodiscard]] Setting setting() const override { return shape_.setting(); }
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  /// Launches the kernel over `sweep` with `shape`.
  virtual void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) = 0;

  [[nodiscard]] Context& context() const { return *context_; }
  /// The whole arena, from slot 0.
  [[nodiscard]] const Sweep& arena() const { return sweep_; }
  [[nodiscard]] Bytes extent() const { return (sweep_.slots - 1) * sweep_.stride + sweep_.bytes; }
  [[nodiscard]] const Arenas& arenas() const { return arenas_; }
  [[nodiscard]] const CopyCheck& check() const { return check_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Repeats since arm().
  [[nodiscard]] std::uint64_t touched() const { return touched_; }
  [[nodiscard]] std::uint64_t touched_slots() const;
  void add_shape(const LaunchShape& shape) { shapes_.push_back(shape); }

 private:
  std::shared_ptr<Context> context_;
  Arenas arenas_;
  int device_;
  Sweep sweep_;
  CopyCheck check_;
  std::vector<LaunchShape> shapes_;
  LaunchShape shape_;
  std::uint64_t seed_ = 0;
  std::uint64_t touched_ = 0;
};

}  // namespace linkscope::gpu
