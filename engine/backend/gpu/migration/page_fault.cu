// page-fault by a kernel: a warp for each page in turn.
#include <algorithm>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/migration/faulted_pages.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

using vendor::Counter;

constexpr unsigned threads_per_block = 256;
constexpr Bytes blocks_per_multiprocessor = 8;
constexpr Bytes warp_stretch = 4 * KiB;  // of words that are all touched

/// Warps stride over stretches of `words_per_warp` touched words, their lanes over the words. The sum of what was read.
__global__ void touch_kernel(std::uint64_t* slot, PageTouch touch, std::uint64_t words_per_warp,
                             std::uint64_t seed, Counter* total) {
  __shared__ Counter block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  const std::uint64_t step = touch.step / sizeof *slot;
  const std::uint64_t words = touch.words();
  const std::uint64_t thread = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
  const std::uint64_t warps = gridDim.x * static_cast<std::uint64_t>(blockDim.x) / warpSize;
  const std::uint64_t lane = threadIdx.x % warpSize;
  Counter sum = 0;
  for (std::uint64_t stretch = thread / warpSize * words_per_warp; stretch < words;
       stretch += warps * words_per_warp) {
    for (std::uint64_t within = lane; within < words_per_warp; within += warpSize) {
      const std::uint64_t index = (stretch + within) * step;
      if (stretch + within >= words) break;
      if (touch.access == TouchAccess::read) {
        sum += slot[index];
      } else {
        slot[index] = touched_word(seed, index);
      }
    }
  }
  if (touch.access != TouchAccess::read) return;
  if (sum != 0) atomicAdd(&block_sum, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, block_sum);
}

class KernelFaultTransfer final : public GpuTransfer {
 public:
  KernelFaultTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : context_(context),
        device_(flow.executor.index),
        pages_(context, flow, arenas),
        sum_(*context, device_, 1) {
    const PageTouch& touch = pages_.touch();
    words_per_warp_ = std::max<std::uint64_t>(1, warp_stretch / touch.step);
    const auto warps_per_block =
        threads_per_block / static_cast<unsigned>(context_->device(device_).warp_size);
    const std::uint64_t words_per_block = warps_per_block * words_per_warp_;
    const auto most =
        static_cast<std::uint64_t>(context_->device(device_).multiprocessors) * blocks_per_multiprocessor;
    blocks_ = static_cast<unsigned>(
        std::clamp<std::uint64_t>((touch.words() + words_per_block - 1) / words_per_block, 1, most));
    context_->load(device_, {reinterpret_cast<const void*>(&touch_kernel)});
    own_facts().max_repeats = std::min(pages_.slots().count(), queue_share);
    own_facts().setting = {{"blocks", static_cast<std::int64_t>(blocks_)},
                           {"threads", static_cast<std::int64_t>(threads_per_block)}};
  }

  [[nodiscard]] int device() const override { return device_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, ++done_) {
      touch_kernel<<<blocks_, threads_per_block, 0, stream>>>(
          reinterpret_cast<std::uint64_t*>(pages_.at(done_)), pages_.touch(), words_per_warp_,
          pages_.seed_of(done_), reinterpret_cast<Counter*>(sum_.data()));
      LINKSCOPE_CHECK(gpuGetLastError());
    }
  }

  void arm(std::uint64_t seed) override {
    pages_.arm(seed);
    sum_.clear();
    done_ = 0;
  }
  void restore() override { pages_.slots().bring_home(done_); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    return pages_.verify(done_, sum_.read().front());
  }
  [[nodiscard]] Bytes verified_bytes() const override { return pages_.verified_bytes(done_); }
  void flush() override { pages_.slots().flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return pages_.slots().notes(); }

 private:
  std::shared_ptr<GpuContext> context_;
  int device_;
  FaultedPages pages_;
  DeviceWords sum_;
  std::uint64_t words_per_warp_ = 1;
  unsigned blocks_ = 1;
  std::uint64_t done_ = 0;  ///< since arm()
};

}  // namespace

std::unique_ptr<Transfer> fault_by_kernel(std::shared_ptr<GpuContext> context, const Flow& flow,
                                          const Arenas& arenas) {
  return std::make_unique<KernelFaultTransfer>(std::move(context), flow, arenas);
}

}  // namespace linkscope::gpu
