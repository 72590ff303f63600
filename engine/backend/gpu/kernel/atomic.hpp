// kernel-atomic: atomic operations by a GPU's threads on words wherever the destination is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// flow.bytes is the number of operations times their width; parameter `addresses` says over how many words they
/// spread. Checked exactly: sums after add and cas; after exchange nothing that was written is lost, what came back and
/// what stands there together are what was there and what was written. cas takes at most 32 threads to a word unless
/// blocks or threads say otherwise: its failed tries grow with the square of those that want the same one.
///
/// The scope is the node's (system) where the words are not the executor's own. That is refused where the link cannot
/// carry operations as such; with scope `device`, which is atomic among the executor's threads, it is not.
class KernelAtomic final : public GpuMethod {
 public:
  explicit KernelAtomic(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"kernel-atomic",
                   "adds, exchanges or compares and swaps atomically by a kernel, checked by exact sums"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// The words alone.
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;
  /// 0 where the flow names the addresses: those are the words it is about.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;

 private:
  [[nodiscard]] Support is_atomic(const Flow& flow) const;
};

}  // namespace linkscope::gpu
