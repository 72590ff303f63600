// page-fault by CPU threads, and what either executor must have.
#include "backend/gpu/migration/page_fault.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/migration/faulted_pages.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"

namespace linkscope::gpu {
namespace {

std::int64_t threads_of(const Flow& flow) { return flow.parameters.number("threads", 1); }

class HostFaultTransfer final : public host::HostTransfer {
 public:
  HostFaultTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : HostTransfer(flow.executor.index, static_cast<unsigned>(threads_of(flow))),
        pages_(context, flow, arenas),
        sums_(threads()) {
    own_facts().max_repeats = pages_.slots().count();
    own_facts().setting = {{"threads", threads()}};
  }

  void arm(std::uint64_t seed) override {
    restart();
    std::fill(sums_.begin(), sums_.end(), ThreadSum{});
    pages_.arm(seed);
  }
  void restore() override { pages_.slots().bring_home(done()); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    const std::uint64_t sum =
        std::accumulate(sums_.begin(), sums_.end(), std::uint64_t{0},
                        [](std::uint64_t so_far, const ThreadSum& part) { return so_far + part.words; });
    return pages_.verify(done(), sum);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return pages_.verified_bytes(done()); }
  void flush() override { pages_.slots().flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return pages_.slots().notes(); }

  /// Threads take neighbouring stretches of whole pages.
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    const PageTouch touch = pages_.touch();
    const std::uint64_t share = (touch.words() + threads() - 1) / threads();
    const std::uint64_t begin = std::min(touch.words(), share * part);
    const std::uint64_t end = std::min(touch.words(), begin + share);
    for (std::uint64_t turn = first; turn < first + repeats; ++turn) {
      auto* const words = reinterpret_cast<volatile std::uint64_t*>(pages_.at(turn));
      const std::uint64_t step = touch.step / sizeof *words;
      if (touch.access == TouchAccess::read) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = begin; i < end; ++i) sum += words[i * step];
        sums_[part].words += sum;
      } else {
        const std::uint64_t seed = pages_.seed_of(turn);
        for (std::uint64_t i = begin; i < end; ++i) words[i * step] = touched_word(seed, i * step);
      }
    }
  }

 private:
  struct alignas(64) ThreadSum {  // a cache line for each thread
    std::uint64_t words = 0;
  };

  FaultedPages pages_;
  std::vector<ThreadSum> sums_;
};

}  // namespace

std::map<std::string, std::string> PageFault::own_parameters() const {
  return {{"access", "write (default) or read"},
          {"touch", "page (default): one word of each page; word: all of them"},
          {"threads", "CPU threads that touch, each on its own CPU of the executor; default 1"}};
}

Support PageFault::supports(const Flow& flow) const {
  if (!flow.source || flow.destination)
    return Support::no("page-fault takes a source only: pages come to the executor");
  static_cast<void>(touch_of(flow));
  if (flow.bytes % sizeof(std::uint64_t) != 0)
    return Support::no("page-fault touches whole words of 8 bytes");
  if (const Support moves = can_migrate(context(), *flow.source, flow.executor); !moves) return moves;
  if (flow.executor.kind == DeviceKind::gpu) {
    if (threads_of(flow) == 1) return Support::yes();
    return Support::no("threads are a CPU's: " + flow.executor.text() + " touches with all it has");
  }
  if (const Support executor = context().host().can_execute(flow.executor); !executor) return executor;
  const auto cpus =
      static_cast<std::int64_t>(context().host().topology().find(flow.executor.index)->cpus.size());
  if (threads_of(flow) >= 1 && threads_of(flow) <= cpus) return Support::yes();
  return Support::no(flow.executor.text() + " has " + std::to_string(cpus) + " CPUs, not " +
                     std::to_string(threads_of(flow)));
}

Bytes PageFault::footprint(const Flow& flow) const { return migration_footprint(flow); }

Bytes PageFault::rotation_bytes(const Flow& flow) const { return migration_rotation(flow); }

std::unique_ptr<Transfer> PageFault::make(const Flow& flow, const Arenas& arenas) const {
  if (flow.executor.kind == DeviceKind::gpu) return fault_by_kernel(shared_context(), flow, arenas);
  return std::make_unique<HostFaultTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
