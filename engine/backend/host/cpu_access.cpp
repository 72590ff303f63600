#include "backend/host/cpu_access.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "backend/host/non_temporal.hpp"
#include "backend/host/slot_transfer.hpp"
#include "backend/host/word_loops.hpp"
#include "model/pattern.hpp"

namespace linkscope::host {

namespace {

/// One thread's sum, on a line of its own.
struct alignas(64) PartialSum {
  std::uint64_t value = 0;
};

class CpuReadTransfer final : public SlotTransfer {
 public:
  CpuReadTransfer(const Flow& flow, const Arenas& arenas, SumFunction sum, WorkerPool& workers)
      : SlotTransfer(flow, arenas), sum_(sum), workers_(workers), sums_(threads()) {}

  void arm(std::uint64_t seed) override {
    SlotTransfer::arm(seed);
    for (PartialSum& sum : sums_) sum.value = 0;
  }

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    const std::byte* const from = arenas().source->data();
    std::uint64_t sum = 0;
    sweep(part, first, repeats, [&](Bytes offset, Bytes size) { sum += sum_(from + offset, size); });
    sums_[part].value += sum;
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  /// What the checked sum covers.
  [[nodiscard]] Bytes verified_bytes() const override {
    return std::min(done(), arenas().rotation.slots) * bytes();
  }

 private:
  [[nodiscard]] std::uint64_t expected_of_slot(std::uint64_t seed, std::uint64_t slot) const;

  SumFunction sum_;
  WorkerPool& workers_;
  std::vector<PartialSum> sums_;
};

std::uint64_t CpuReadTransfer::expected_of_slot(std::uint64_t seed, std::uint64_t slot) const {
  const std::uint64_t first_word = slot * (arenas().rotation.stride / word_bytes);
  std::atomic<std::uint64_t> total{0};
  workers_.share(bytes(), [&](Bytes offset, Bytes size) {
    total += sum_of_pattern(size, seed, first_word + offset / word_bytes);
  });
  return total;
}

std::optional<Mismatch> CpuReadTransfer::verify(std::uint64_t seed) const {
  const Rotation& rotation = arenas().rotation;
  std::uint64_t expected = 0;
  for (std::uint64_t slot = 0; slot < std::min(done(), rotation.slots); ++slot) {
    const std::uint64_t times = done() / rotation.slots + (slot < done() % rotation.slots ? 1 : 0);
    expected += times * expected_of_slot(seed, slot);
  }
  std::uint64_t found = 0;
  for (const PartialSum& sum : sums_) found += sum.value;
  if (found == expected) return std::nullopt;
  const Buffer& source = *arenas().source;
  const std::string end = source.where().device.text() + " " + source.where().memory;
  const Bytes extent = (rotation.slots - 1) * rotation.stride + bytes();
  if (const auto bad = source.compare(0, extent, seed)) {
    return Mismatch{"the sum of all words read is wrong: byte " + std::to_string(*bad) + " of the source, " +
                    end + ", no longer holds its pattern"};
  }
  return Mismatch{"the sum of all words read is wrong, though " + end + " holds its pattern"};
}

class CpuWriteTransfer final : public SlotTransfer {
 public:
  CpuWriteTransfer(const Flow& flow, const Arenas& arenas, FillFunction fill)
      : SlotTransfer(flow, arenas), fill_(fill) {}

  void arm(std::uint64_t seed) override {
    SlotTransfer::arm(seed);
    seed_ = seed;
  }

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    std::byte* const to = arenas().destination->data();
    sweep(part, first, repeats, [=, this](Bytes offset, Bytes size) {
      fill_(to + offset, size, seed_,
            offset / word_bytes);  // the arena holds one pattern, as CopyCheck expects
    });
  }

 private:
  FillFunction fill_;
  std::uint64_t seed_ = 0;
};

/// What both methods ask of a flow, whose one end is `end`.
Support accessible(const HostContext& context, const Flow& flow, const Endpoint& end,
                   const Support& non_temporal) {
  if (const Support reached = context.reachable(end); !reached) return reached;
  if (const Support enough = threads_available(context, flow); !enough) return enough;
  if (const Support understood = non_temporal_understood(flow); !understood) return understood;
  return wants_non_temporal(flow) ? non_temporal : Support::yes();
}

}  // namespace

std::map<std::string, std::string> CpuRead::parameters() const {
  auto all = thread_parameters();
  all["non_temporal"] =
      "1: non-temporal loads (they speed up write-combined memory on x86-64); 0 (default): ordinary";
  return all;
}

Support CpuRead::supports(const Flow& flow) const {
  if (!flow.source || flow.destination) return Support::no("cpu-read reads a source and has no destination");
  return accessible(*context_, flow, *flow.source, can_load_non_temporal());
}

std::unique_ptr<Transfer> CpuRead::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<CpuReadTransfer>(flow, arenas,
                                           wants_non_temporal(flow) ? non_temporal_sum() : widest_sum(),
                                           context_->workers(flow.executor.index));
}

Bytes CpuRead::rotation_bytes(const Flow& flow) const {
  return context_->rotation_bytes({flow.executor, flow.source->device});
}

std::map<std::string, std::string> CpuWrite::parameters() const {
  auto all = thread_parameters();
  all["non_temporal"] = "1: streaming stores past the caches; 0 (default): ordinary stores";
  return all;
}

Support CpuWrite::supports(const Flow& flow) const {
  if (flow.source || !flow.destination)
    return Support::no("cpu-write has no source and writes a destination");
  return accessible(*context_, flow, *flow.destination, can_store_non_temporal());
}

std::unique_ptr<Transfer> CpuWrite::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<CpuWriteTransfer>(flow, arenas,
                                            wants_non_temporal(flow) ? non_temporal_fill() : widest_fill());
}

Bytes CpuWrite::rotation_bytes(const Flow& flow) const {
  return context_->rotation_bytes({flow.executor, flow.destination->device});
}

}  // namespace linkscope::host
