// cpu-read and cpu-write: loads and stores of CPU threads, without a copy around them.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "backend/host/backend.hpp"
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
  /// Counts the bytes that the checked sum covers.
  [[nodiscard]] Bytes verified_bytes() const override {
    return std::min(transfers(), arenas().rotation.slots) * bytes();
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
  for (std::uint64_t slot = 0; slot < std::min(transfers(), rotation.slots); ++slot) {
    const std::uint64_t times = transfers() / rotation.slots + (slot < transfers() % rotation.slots ? 1 : 0);
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

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    std::byte* const to = arenas().destination->data();
    sweep(part, first, repeats, [=, this](Bytes offset, Bytes size) {
      fill_(to + offset, size, seed(),
            offset / word_bytes);  // the arena holds one pattern, as CopyCheck expects
    });
  }

 private:
  FillFunction fill_;
};

constexpr Parameter loads =
    integer("non_temporal",
            "1: non-temporal loads (they speed up write-combined memory on x86-64); 0: ordinary", 0, 1, 0);
constexpr Parameter stores =
    integer("non_temporal", "1: streaming stores past the caches; 0: ordinary stores", 0, 1, 0);

}  // namespace

Method cpu_read(const std::shared_ptr<HostContext>& context) {
  Method row{{"cpu-read", "CPU threads load and sum the source"}, {thread_count, loads}};
  row.supports = [context](const Flow& flow) {
    if (!flow.source || flow.destination)
      return Support::no("cpu-read reads a source and has no destination");
    if (const Support can = threads_reach(*context, flow); !can) return can;
    return flow.parameters.number(loads) == 1 ? can_load_non_temporal() : Support::yes();
  };
  row.rotation_bytes = [context](const Flow& flow) {
    return context->rotation_bytes({flow.executor, flow.source->device});
  };
  row.prepare = [context](const Flow& flow, const Arenas& arenas) {
    const SumFunction sum = flow.parameters.number(loads) == 1 ? non_temporal_sum() : widest_sum();
    return std::make_unique<CpuReadTransfer>(flow, arenas, sum, context->workers(flow.executor.index));
  };
  return row;
}

Method cpu_write(const std::shared_ptr<HostContext>& context) {
  Method row{{"cpu-write", "CPU threads store to the destination"}, {thread_count, stores}};
  row.supports = [context](const Flow& flow) {
    if (flow.source || !flow.destination)
      return Support::no("cpu-write has no source and writes a destination");
    if (const Support can = threads_reach(*context, flow); !can) return can;
    return flow.parameters.number(stores) == 1 ? can_store_non_temporal() : Support::yes();
  };
  row.rotation_bytes = [context](const Flow& flow) {
    return context->rotation_bytes({flow.executor, flow.destination->device});
  };
  row.prepare = [](const Flow& flow, const Arenas& arenas) {
    const FillFunction fill = flow.parameters.number(stores) == 1 ? non_temporal_fill() : widest_fill();
    return std::make_unique<CpuWriteTransfer>(flow, arenas, fill);
  };
  return row;
}

}  // namespace linkscope::host
