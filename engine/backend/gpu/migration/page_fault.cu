// page-fault: by a kernel, a warp for each page in turn, or by CPU threads.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/host_transfer.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

using vendor::Counter;

constexpr unsigned threads_per_block = 256;
constexpr Bytes blocks_per_multiprocessor = 8;
constexpr Bytes warp_stretch = 4 * KiB;  // of words that are all touched

enum class TouchAccess { write, read };
constexpr Parameter touch_access = word("access", "write|read", "how pages are touched");
enum class Touched { page, word };
constexpr Parameter touched_part =
    word("touch", "page|word", "page: one word of each page; word: all of them");
constexpr Parameter touching_threads =
    integer("threads", "CPU threads that touch, each on its own CPU of the executor", 1, 1 << 20, 1);

/// The words of a slot that are touched: every one `step` bytes from the last.
struct PageTouch {
  TouchAccess access = TouchAccess::write;
  Bytes bytes = 0;
  Bytes step = word_bytes;

  [[nodiscard]] constexpr std::uint64_t words() const { return (bytes + step - 1) / step; }
};

PageTouch touch_of(const Flow& flow) {
  const bool whole_pages = flow.parameters.choice<Touched>(touched_part) == Touched::page;
  return {flow.parameters.choice<TouchAccess>(touch_access), flow.bytes,
          whole_pages ? static_cast<Bytes>(sysconf(_SC_PAGESIZE)) : word_bytes};
}

/// What a write leaves at the word `index`, where the pattern of `seed` stood.
constexpr std::uint64_t touched_word(std::uint64_t seed, std::uint64_t index) {
  return ~pattern_word(seed, index);
}

/// The GPU's node or the host end itself.
int checking_node(const GpuContext& context, const Flow& flow) {
  if (flow.source->device.kind == DeviceKind::numa) return flow.source->device.index;
  return std::max(0, context.device(flow.source->device.index).numa);
}

/// The slots that are touched, and whether a transfer saw and left in them what it should.
class FaultedPages final : public Check {
 public:
  FaultedPages(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : context_(context),
        touch_(touch_of(flow)),
        slots_(context, *arenas.source, flow.bytes, arenas.rotation, flow.executor),
        node_(checking_node(*context, flow)) {}

  [[nodiscard]] const PageTouch& touch() const { return touch_; }
  [[nodiscard]] MigratingSlots& slots() { return slots_; }
  [[nodiscard]] const MigratingSlots& slots() const { return slots_; }
  [[nodiscard]] std::byte* at(std::uint64_t turn) const { return slots_.at(turn); }
  /// The seed of the pattern at at(turn).
  [[nodiscard]] std::uint64_t seed_of(std::uint64_t turn) const {
    return slots_.seed_of(seed_, turn % slots_.count());
  }

  void arm(std::uint64_t seed) override {
    seed_ = seed;
    slots_.fill(seed);
  }
  /// Writes left their words in every slot that they touched, and all else as it was. Reads are checked by
  /// find_wrong().
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override;
  /// The words that `transfers` reads touched add up to `sum`; writes read nothing.
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t transfers, std::uint64_t sum) const;
  /// The bytes of the touched words of reads, whole slots of writes.
  [[nodiscard]] Bytes verified_bytes(std::uint64_t transfers) const override {
    const bool words_alone = touch_.access == TouchAccess::read;
    return slots_.touched(transfers) * (words_alone ? touch_.words() * word_bytes : touch_.bytes);
  }
  void flush() override { slots_.flush(); }

 private:
  [[nodiscard]] std::optional<Mismatch> compare_written(std::uint64_t slot) const;

  std::shared_ptr<GpuContext> context_;
  PageTouch touch_;
  MigratingSlots slots_;
  int node_;  ///< whose CPUs check
  std::uint64_t seed_ = 0;
};

/// The check reads the pages on the host and leaves them as they are: it can be repeated.
std::optional<Mismatch> FaultedPages::compare_written(std::uint64_t slot) const {
  const std::uint64_t seed = seed_of(slot);
  migrate(*context_, at(slot), touch_.bytes, {DeviceKind::numa, node_});
  const auto* const words = reinterpret_cast<const std::uint64_t*>(at(slot));
  const std::uint64_t step = touch_.step / word_bytes;
  std::atomic<std::uint64_t> first_bad{touch_.bytes / word_bytes};
  context_->share_on_node(node_, touch_.bytes, [&](Bytes from, Bytes length) {
    const std::uint64_t end = (from + length + word_bytes - 1) / word_bytes;
    for (std::uint64_t i = (from + word_bytes - 1) / word_bytes; i < end; ++i) {
      if (words[i] == (i % step == 0 ? touched_word(seed, i) : pattern_word(seed, i))) continue;
      std::uint64_t known = first_bad.load();
      while (i < known && !first_bad.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  if (first_bad == touch_.bytes / word_bytes) return std::nullopt;
  return Mismatch{"the word at byte " + std::to_string(first_bad * word_bytes) + " of " +
                  std::to_string(touch_.bytes) + " in slot " + std::to_string(slot) + " of " +
                  std::to_string(slots_.count()) +
                  (first_bad % step == 0 ? " does not hold what was written"
                                         : " was not touched and is not what it was")};
}

std::optional<Mismatch> FaultedPages::verify(std::uint64_t /*seed*/, std::uint64_t transfers) const {
  if (touch_.access == TouchAccess::read) return std::nullopt;
  for (std::uint64_t slot = 0; slot < slots_.touched(transfers); ++slot) {
    if (auto wrong = compare_written(slot)) return wrong;
  }
  return std::nullopt;
}

std::optional<Mismatch> FaultedPages::find_wrong(std::uint64_t transfers, std::uint64_t sum) const {
  if (touch_.access == TouchAccess::write) return std::nullopt;
  std::uint64_t expected = 0;
  for (std::uint64_t slot = 0; slot < slots_.touched(transfers); ++slot) {
    const std::uint64_t visits = transfers / slots_.count() + (slot < transfers % slots_.count() ? 1 : 0);
    std::uint64_t words = 0;
    for (std::uint64_t i = 0; i < touch_.words(); ++i)
      words += pattern_word(seed_of(slot), i * touch_.step / word_bytes);
    expected += visits * words;
  }
  if (sum == expected) return std::nullopt;
  return Mismatch{"the words that " + std::to_string(transfers) +
                  " transfers read do not add up to those that were there"};
}

class HostFaultTransfer final : public MigratingTransfer<host::HostTransfer, FaultedPages> {
 public:
  HostFaultTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : MigratingTransfer(std::make_unique<FaultedPages>(context, flow, arenas), flow.executor.index,
                          static_cast<unsigned>(flow.parameters.number(touching_threads))),
        sums_(threads()) {
    own_facts().max_repeats = pages().slots().count();
    own_facts().setting = {{"threads", threads()}};
  }

  void arm(std::uint64_t seed) override {
    MigratingTransfer::arm(seed);
    std::fill(sums_.begin(), sums_.end(), ThreadSum{});
  }

  /// Threads take neighbouring stretches of whole pages.
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    const PageTouch touch = pages().touch();
    const std::uint64_t share = (touch.words() + threads() - 1) / threads();
    const std::uint64_t begin = std::min(touch.words(), share * part);
    const std::uint64_t end = std::min(touch.words(), begin + share);
    for (std::uint64_t turn = first; turn < first + repeats; ++turn) {
      auto* const words = reinterpret_cast<volatile std::uint64_t*>(pages().at(turn));
      const std::uint64_t step = touch.step / sizeof *words;
      if (touch.access == TouchAccess::read) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = begin; i < end; ++i) sum += words[i * step];
        sums_[part].words += sum;
      } else {
        const std::uint64_t seed = pages().seed_of(turn);
        for (std::uint64_t i = begin; i < end; ++i) words[i * step] = touched_word(seed, i * step);
      }
    }
  }

 private:
  struct alignas(64) ThreadSum {  // a cache line for each thread
    std::uint64_t words = 0;
  };

  [[nodiscard]] std::uint64_t found() const override {
    return std::accumulate(sums_.begin(), sums_.end(), std::uint64_t{0},
                           [](std::uint64_t so_far, const ThreadSum& part) { return so_far + part.words; });
  }

  std::vector<ThreadSum> sums_;
};

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

class KernelFaultTransfer final : public MigratingTransfer<GpuTransfer, FaultedPages> {
 public:
  KernelFaultTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : MigratingTransfer(std::make_unique<FaultedPages>(context, flow, arenas)),
        device_(flow.executor.index),
        sum_(*context, device_, 1) {
    const PageTouch& touch = pages().touch();
    const GpuProperties& gpu = context->device(device_);
    words_per_warp_ = std::max<std::uint64_t>(1, warp_stretch / touch.step);
    const std::uint64_t words_per_block =
        threads_per_block / static_cast<unsigned>(gpu.warp_size) * words_per_warp_;
    const auto most = static_cast<std::uint64_t>(gpu.multiprocessors) * blocks_per_multiprocessor;
    blocks_ = static_cast<unsigned>(
        std::clamp<std::uint64_t>((touch.words() + words_per_block - 1) / words_per_block, 1, most));
    context->load(device_, {reinterpret_cast<const void*>(&touch_kernel)});
    own_facts().max_repeats = std::min(pages().slots().count(), queue_share);
    own_facts().setting = {{"blocks", static_cast<std::int64_t>(blocks_)},
                           {"threads", static_cast<std::int64_t>(threads_per_block)}};
  }

  [[nodiscard]] int device() const override { return device_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, count(1)) {
      touch_kernel<<<blocks_, threads_per_block, 0, stream>>>(
          reinterpret_cast<std::uint64_t*>(pages().at(transfers())), pages().touch(), words_per_warp_,
          pages().seed_of(transfers()), reinterpret_cast<Counter*>(sum_.data()));
      LINKSCOPE_CHECK(gpuGetLastError());
    }
  }
  void arm(std::uint64_t seed) override {
    MigratingTransfer::arm(seed);
    sum_.clear();
  }

 private:
  [[nodiscard]] std::uint64_t found() const override { return sum_.read().front(); }

  int device_;
  DeviceWords sum_;
  std::uint64_t words_per_warp_ = 1;
  unsigned blocks_ = 1;
};

Support can_fault(GpuContext& context, const Flow& flow) {
  if (flow.bytes % word_bytes != 0) return Support::no("page-fault touches whole words of 8 bytes");
  const std::int64_t threads = flow.parameters.number(touching_threads);
  if (const Support touched = can_touch(context, flow, threads); !touched) return touched;
  if (flow.executor.kind == DeviceKind::numa || threads == 1) return Support::yes();
  return Support::no("threads are a CPU's: " + flow.executor.text() + " touches with all it has");
}

}  // namespace

Method page_fault(const std::shared_ptr<GpuContext>& context) {
  return migration_row(
      context,
      {"page-fault",
       "pages that migrate because a kernel or CPU threads touch them; all bytes count, touched or not",
       Quantity::bandwidth,
       {.migrates = true, .host_gbps = 5, .gpu_gbps = 5}},
      {touch_access, touched_part, touching_threads}, &can_fault,
      &make_by_executor<KernelFaultTransfer, HostFaultTransfer>);
}

}  // namespace linkscope::gpu
