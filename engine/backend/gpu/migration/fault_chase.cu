// fault-chase: by one thread of a kernel, or by a CPU thread.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/latency/ring_order.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/host_transfer.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr Parameter ring_stride =
    integer("stride", "bytes from pointer to pointer, a multiple of 8", 8, std::int64_t{1} << 40, MiB);
enum class PointerOrder { sequential, random };
constexpr Parameter ring_order =
    word("order", "sequential|random", "how the pointers lead through the pages");

struct RingShape {
  Bytes stride = 0;
  std::uint64_t nodes = 1;
};

/// Throws Error{bad_input} for a stride that splits words, Error{unsupported} for fewer than two nodes.
RingShape ring_shape_of(const Flow& flow) {
  const auto stride = static_cast<Bytes>(flow.parameters.number(ring_stride));
  if (stride % word_bytes != 0) throw Error(Fault::bad_input, "parameter stride: a multiple of 8 bytes");
  const std::uint64_t nodes = flow.bytes / stride;
  if (nodes >= 2) return {stride, nodes};
  throw Error(Fault::unsupported, "a fault chase needs two strides of memory at least: " +
                                      format_bytes(flow.bytes) + " hold fewer of " + format_bytes(stride));
}

/// Pointers through slots of migrating pages, a ring in each: a walk of `nodes` hops from start(turn) ends where it
/// began.
class FaultRing final : public Check {
 public:
  FaultRing(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : shape_(ring_shape_of(flow)),
        pointer_order_(flow.parameters.choice<PointerOrder>(ring_order)),
        slots_(std::move(context), *arenas.source, flow.bytes, arenas.rotation, flow.executor) {}

  [[nodiscard]] std::uint64_t nodes() const { return shape_.nodes; }
  [[nodiscard]] MigratingSlots& slots() { return slots_; }
  [[nodiscard]] const MigratingSlots& slots() const { return slots_; }
  [[nodiscard]] std::byte* start(std::uint64_t turn) const {
    return slots_.at(turn) + order_.place(0) * shape_.stride;
  }

  /// Fills the slots and lays the rings.
  void arm(std::uint64_t seed) override {
    slots_.fill(seed);
    order_ = pointer_order_ == PointerOrder::random ? RingOrder::random(shape_.nodes, seed)
                                                    : RingOrder::sequential(shape_.nodes);
    for (std::uint64_t slot = 0; slot < slots_.count(); ++slot) {
      for (std::uint64_t step = 0; step < shape_.nodes; ++step) {
        const std::byte* const next = slots_.at(slot) + order_.place(step + 1) * shape_.stride;
        std::memcpy(slots_.at(slot) + order_.place(step) * shape_.stride, &next, sizeof next);
      }
    }
  }
  /// Says nothing: walks tell where they ended (find_wrong()).
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/,
                                               std::uint64_t /*transfers*/) const override {
    return std::nullopt;
  }
  /// Of `transfers` walks `right` ended where they should.
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t transfers, std::uint64_t right) const {
    if (right == transfers) return std::nullopt;
    return Mismatch{std::to_string(transfers - right) + " of " + std::to_string(transfers) + " walks of " +
                    std::to_string(shape_.nodes) + " hops did not end where the ring says"};
  }
  [[nodiscard]] Bytes verified_bytes(std::uint64_t transfers) const override {
    return slots_.touched(transfers) * shape_.nodes * sizeof(std::byte*);
  }
  void flush() override { slots_.flush(); }

 private:
  RingShape shape_;
  PointerOrder pointer_order_;
  MigratingSlots slots_;
  RingOrder order_;
};

class HostChaseTransfer final : public MigratingTransfer<host::HostTransfer, FaultRing> {
 public:
  HostChaseTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : MigratingTransfer(std::make_unique<FaultRing>(context, flow, arenas), flow.executor.index, 1U) {
    own_facts().operations = pages().nodes();
    own_facts().max_repeats = pages().slots().count();
  }

  void arm(std::uint64_t seed) override {
    MigratingTransfer::arm(seed);
    right_ = 0;
  }
  void perform(unsigned /*part*/, std::uint64_t first, std::uint64_t repeats) noexcept override {
    const std::uint64_t nodes = pages().nodes();
    for (std::uint64_t turn = first; turn < first + repeats; ++turn) {
      const std::byte* at = pages().start(turn);
      for (std::uint64_t hop = 0; hop < nodes; ++hop)
        at = *reinterpret_cast<const std::byte* const volatile*>(at);
      if (at == pages().start(turn)) ++right_;
    }
  }

 private:
  [[nodiscard]] std::uint64_t found() const override { return right_; }

  std::uint64_t right_ = 0;
};

__global__ void walk_once(const std::byte* start, std::uint64_t hops, std::uint64_t* right) {
  const std::byte* at = start;
  for (std::uint64_t hop = 0; hop < hops; ++hop) at = *reinterpret_cast<const std::byte* const*>(at);
  if (at == start) ++*right;  // launches of one stream follow one another
}

class KernelChaseTransfer final : public MigratingTransfer<GpuTransfer, FaultRing> {
 public:
  KernelChaseTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : MigratingTransfer(std::make_unique<FaultRing>(context, flow, arenas)),
        device_(flow.executor.index),
        right_(*context, device_, 1) {
    context->load(device_, {reinterpret_cast<const void*>(&walk_once)});
    own_facts().operations = pages().nodes();
    own_facts().max_repeats = std::min(pages().slots().count(), queue_share);
  }

  [[nodiscard]] int device() const override { return device_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, count(1)) {
      walk_once<<<1, 1, 0, stream>>>(pages().start(transfers()), pages().nodes(), right_.data());
      LINKSCOPE_CHECK(gpuGetLastError());
    }
  }
  void arm(std::uint64_t seed) override {
    MigratingTransfer::arm(seed);
    right_.clear();
  }

 private:
  [[nodiscard]] std::uint64_t found() const override { return right_.read().front(); }

  int device_;
  DeviceWords right_;
};

Support can_chase(GpuContext& context, const Flow& flow) {
  static_cast<void>(ring_shape_of(flow));
  return can_touch(context, flow, 1);
}

}  // namespace

Method fault_chase(const std::shared_ptr<GpuContext>& context) {
  return migration_row(context,
                       {"fault-chase",
                        "latency of page faults, one after the other",
                        Quantity::latency,
                        {.migrates = true, .dependent = true, .host_gbps = 5, .gpu_gbps = 5}},
                       {ring_stride, ring_order}, &can_chase,
                       &make_by_executor<KernelChaseTransfer, HostChaseTransfer>);
}

}  // namespace linkscope::gpu
