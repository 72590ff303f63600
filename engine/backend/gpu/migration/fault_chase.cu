// fault-chase by one thread of a kernel.
#include <algorithm>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/migration/fault_ring.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

__global__ void walk_once(const std::byte* start, std::uint64_t hops, std::uint64_t* right) {
  const std::byte* at = start;
  for (std::uint64_t hop = 0; hop < hops; ++hop) at = *reinterpret_cast<const std::byte* const*>(at);
  if (at == start) ++*right;  // launches of one stream follow one another
}

class KernelChaseTransfer final : public GpuTransfer {
 public:
  KernelChaseTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : context_(context),
        device_(flow.executor.index),
        ring_(context, flow, arenas),
        right_(*context, device_, 1) {
    context_->load(device_, {reinterpret_cast<const void*>(&walk_once)});
    own_facts().operations = ring_.shape().nodes;
    own_facts().max_repeats = std::min(ring_.slots().count(), queue_share);
  }

  [[nodiscard]] int device() const override { return device_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, ++done_) {
      walk_once<<<1, 1, 0, stream>>>(ring_.start(done_), ring_.shape().nodes, right_.data());
      LINKSCOPE_CHECK(gpuGetLastError());
    }
  }

  void arm(std::uint64_t seed) override {
    ring_.arm(seed);
    right_.clear();
    done_ = 0;
  }
  void restore() override { ring_.slots().bring_home(done_); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    return ring_.verify(done_, right_.read().front());
  }
  [[nodiscard]] Bytes verified_bytes() const override { return ring_.verified_bytes(done_); }
  void flush() override { ring_.slots().flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return ring_.slots().notes(); }

 private:
  std::shared_ptr<GpuContext> context_;  // outlives what is made with it
  int device_;
  FaultRing ring_;
  DeviceWords right_;
  std::uint64_t done_ = 0;  ///< since arm()
};

}  // namespace

std::unique_ptr<Transfer> chase_by_kernel(std::shared_ptr<GpuContext> context, const Flow& flow,
                                          const Arenas& arenas) {
  return std::make_unique<KernelChaseTransfer>(std::move(context), flow, arenas);
}

}  // namespace linkscope::gpu
