// Threads that go over slots: memcpy, cpu-read and cpu-write, copies, loads and stores of CPU threads.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backend/host/backend.hpp"
#include "backend/host/slot_transfer.hpp"
#include "backend/host/word_loops.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::host {

namespace {

class MemcpyTransfer final : public SlotTransfer {
 public:
  MemcpyTransfer(const Flow& flow, const Arenas& arenas, CopyFunction copy)
      : SlotTransfer(flow, arenas), copy_(copy) {}

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    std::byte* const to = arenas().destination->data();
    const std::byte* const from = arenas().source->data();
    if (copy_ != nullptr) {
      sweep(part, first, repeats,
            [=, this](Bytes offset, Bytes size) { copy_(to + offset, from + offset, size); });
    } else {
      sweep(part, first, repeats,
            [=](Bytes offset, Bytes size) { std::memcpy(to + offset, from + offset, size); });
    }
  }

 private:
  CopyFunction copy_;  // null: memcpy itself, so that the call is the application's own
};

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

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    const Rotation& rotation = arenas().rotation;
    std::uint64_t expected = 0;
    for (std::uint64_t slot = 0; slot < std::min(transfers(), rotation.slots); ++slot) {
      const std::uint64_t times =
          transfers() / rotation.slots + (slot < transfers() % rotation.slots ? 1 : 0);
      expected += times * expected_of_slot(seed, slot);
    }
    std::uint64_t found = 0;
    for (const PartialSum& sum : sums_) found += sum.value;
    if (found == expected) return std::nullopt;
    const Buffer& source = *arenas().source;
    const std::string end = source.where().device.text() + " " + source.where().memory;
    const Bytes extent = (rotation.slots - 1) * rotation.stride + bytes();
    if (const auto bad = source.compare(0, extent, seed)) {
      return Mismatch{"the sum of all words read is wrong: byte " + std::to_string(*bad) +
                      " of the source, " + end + ", no longer holds its pattern"};
    }
    return Mismatch{"the sum of all words read is wrong, though " + end + " holds its pattern"};
  }
  /// Counts the bytes that the checked sum covers.
  [[nodiscard]] Bytes verified_bytes() const override {
    return std::min(transfers(), arenas().rotation.slots) * bytes();
  }

 private:
  [[nodiscard]] std::uint64_t expected_of_slot(std::uint64_t seed, std::uint64_t slot) const {
    const std::uint64_t first_word = slot * (arenas().rotation.stride / word_bytes);
    std::atomic<std::uint64_t> total{0};
    workers_.share(bytes(), [&](Bytes offset, Bytes size) {
      total += sum_of_pattern(size, seed, first_word + offset / word_bytes);
    });
    return total;
  }

  SumFunction sum_;
  WorkerPool& workers_;
  std::vector<PartialSum> sums_;
};

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

/// What the rows of threads that go over slots differ in.
struct SlotMethod {
  MethodSpec spec;
  Parameter non_temporal;
  Support (*can_stream)();  ///< whether this CPU has what non_temporal asks for
  bool reads;
  bool writes;
  const char* ends;  ///< said where the flow has others
  std::function<std::unique_ptr<Transfer>(const Flow&, const Arenas&, bool streaming)> make;
};

Method row_of(const std::shared_ptr<HostContext>& context, const SlotMethod& method) {
  Method row{method.spec, {thread_count, method.non_temporal}};
  row.supports = [=](const Flow& flow) {
    if (flow.source.has_value() != method.reads || flow.destination.has_value() != method.writes)
      return Support::no(method.ends);
    for (const auto* end : {&flow.source, &flow.destination}) {
      if (!*end) continue;
      if (const Support reached = context->reachable(**end); !reached) return reached;
    }
    if (const Support can = threads_available(*context, flow); !can) return can;
    return flow.parameters.number(method.non_temporal) == 1 ? method.can_stream() : Support::yes();
  };
  row.rotation_bytes = [=](const Flow& flow) {
    std::set<DeviceId> devices{flow.executor};
    if (method.reads) devices.insert(flow.source->device);
    if (method.writes) devices.insert(flow.destination->device);
    return context->rotation_bytes(devices) / (method.reads && method.writes ? both_ends : 1);
  };
  row.prepare = [=](const Flow& flow, const Arenas& arenas) {
    return method.make(flow, arenas, flow.parameters.number(method.non_temporal) == 1);
  };
  return row;
}

}  // namespace

unsigned sharers(Bytes bytes, std::int64_t threads, Bytes cut) {
  return static_cast<unsigned>(std::clamp<Bytes>((bytes + cut - 1) / cut, 1, static_cast<Bytes>(threads)));
}

ThreadShare share_of(Bytes bytes, unsigned part, unsigned parts, Bytes cut) {
  const Bytes pieces = (bytes + cut - 1) / cut;
  const auto offset_of = [&](Bytes index) { return std::min(bytes, pieces * index / parts * cut); };
  return {offset_of(part), offset_of(part + 1) - offset_of(part)};
}

SlotTransfer::SlotTransfer(const Flow& flow, const Arenas& arenas)
    : HostTransfer(flow.executor.index, sharers(flow.bytes, flow.parameters.number(thread_count), line)),
      arenas_(arenas),
      bytes_(flow.bytes) {
  set_check(std::make_unique<CopyCheck>(arenas.source, arenas.destination, flow.bytes, arenas.rotation));
  own_facts().setting = {{"threads", threads()}};
  own_facts().checks_starts = arenas.destination != nullptr;
}

void SlotTransfer::arm(std::uint64_t seed) {
  Transfer::arm(seed);
  changed_.clear();
}

void SlotTransfer::restore() {
  if (arenas_.destination == nullptr) return;
  constexpr std::uint64_t most_slots = 16;
  put_back();
  const std::uint64_t slots = arenas_.rotation.slots;
  for (std::uint64_t i = 0; i < std::min(slots, most_slots); ++i) {
    const std::uint64_t transfer = transfers() + i;
    const Bytes at = arenas_.rotation.at(transfer % slots) + pattern_word(seed(), ++drawn_) % bytes_;
    const auto held =
        static_cast<std::uint8_t>(pattern_word(seed(), at / word_bytes) >> (8 * (at % word_bytes)));
    const auto carried = static_cast<std::byte>(arenas_.source == nullptr ? held : held ^ 0xFFU);
    std::byte& to = arenas_.destination->data()[at];
    changed_.push_back({at, transfer, static_cast<std::byte>(held), carried, to});
    if (arenas_.source != nullptr) arenas_.source->data()[at] = carried;
    to = ~carried;
  }
}

void SlotTransfer::rethrow() {
  std::optional<std::uint64_t> wrong;
  for (Changed& one : changed_) {
    if (one.transfer >= transfers()) continue;
    if (arenas_.destination->data()[one.at] != one.carried && !wrong) wrong = one.transfer;
    one.before = one.held;
  }
  put_back();
  if (wrong)
    throw Error(Fault::mismatch, "transfer " + std::to_string(*wrong) +
                                     " of a pass did nothing, or carried what the source held before");
}

void SlotTransfer::put_back() {
  for (const Changed& one : changed_) {
    if (arenas_.source != nullptr) arenas_.source->data()[one.at] = one.held;
    arenas_.destination->data()[one.at] = one.before;
  }
  changed_.clear();
}

Support threads_available(const HostContext& context, const Flow& flow) {
  if (const Support executor = context.can_execute(flow.executor); !executor) return executor;
  const std::int64_t threads = flow.parameters.number(thread_count);
  const auto cpus = static_cast<std::int64_t>(context.topology().find(flow.executor.index)->cpus.size());
  if (threads > cpus) {
    return Support::no(flow.executor.text() + " has " + std::to_string(cpus) + " CPUs, not " +
                       std::to_string(threads));
  }
  constexpr Bytes least_share = 64;
  if (threads > 1 && flow.bytes < least_share * static_cast<Bytes>(threads)) {
    return Support::no(std::to_string(flow.bytes) + " B are less than a cache line for each of " +
                       std::to_string(threads) + " threads");
  }
  return Support::yes();
}

Method memcpy_copy(const std::shared_ptr<HostContext>& context) {
  return row_of(
      context, {{"memcpy", "the C library's memcpy by CPU threads"},
                integer("non_temporal",
                        "1: streaming stores past the caches at every size; 0: the C library decides by size",
                        0, 1, 0),
                &can_store_non_temporal,
                true,
                true,
                "memcpy needs a source and a destination",
                [](const Flow& flow, const Arenas& arenas, bool streaming) {
                  return std::make_unique<MemcpyTransfer>(flow, arenas,
                                                          streaming ? non_temporal_copy() : nullptr);
                }});
}

Method cpu_read(const std::shared_ptr<HostContext>& context) {
  return row_of(
      context,
      {{"cpu-read", "CPU threads load and sum the source"},
       integer("non_temporal",
               "1: non-temporal loads (they speed up write-combined memory on x86-64); 0: ordinary", 0, 1, 0),
       &can_load_non_temporal,
       true,
       false,
       "cpu-read reads a source and has no destination",
       [context](const Flow& flow, const Arenas& arenas, bool streaming) {
         return std::make_unique<CpuReadTransfer>(flow, arenas, streaming ? non_temporal_sum() : widest_sum(),
                                                  context->workers(flow.executor.index));
       }});
}

Method cpu_write(const std::shared_ptr<HostContext>& context) {
  return row_of(context,
                {{"cpu-write", "CPU threads store to the destination"},
                 integer("non_temporal", "1: streaming stores past the caches; 0: ordinary stores", 0, 1, 0),
                 &can_store_non_temporal,
                 false,
                 true,
                 "cpu-write has no source and writes a destination",
                 [](const Flow& flow, const Arenas& arenas, bool streaming) {
                   return std::make_unique<CpuWriteTransfer>(flow, arenas,
                                                             streaming ? non_temporal_fill() : widest_fill());
                 }});
}

}  // namespace linkscope::host
