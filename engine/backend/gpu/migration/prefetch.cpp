// prefetch: managed pages sent to the executor, or from it to the host.
#include <algorithm>

#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

constexpr int host_location = -1;

enum class Goal { executor, host };
constexpr Parameter prefetch_goal = optional_word(
    "to", "executor|host",
    "executor: to the GPU that executes; host: to the host; unless set, host from the executor, "
    "else executor");

Goal goal_of(const Flow& flow) {
  const bool at_executor = flow.source && flow.source->device == flow.executor;
  return flow.parameters.given_choice<Goal>(prefetch_goal)
      .value_or(at_executor ? Goal::host : Goal::executor);
}

/// The device that the pages go to: the executor, or the executor's node.
DeviceId destination_of(const GpuContext& context, const Flow& flow) {
  if (goal_of(flow) == Goal::executor) return flow.executor;
  return {DeviceKind::numa, std::max(0, context.device(flow.executor.index).numa)};
}

class PrefetchTransfer final : public GpuTransfer {
 public:
  PrefetchTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : device_(flow.executor.index),
        location_(goal_of(flow) == Goal::host ? host_location : device_),
        slots_(context, *arenas.source, flow.bytes, arenas.rotation, destination_of(*context, flow)) {
    context->use(device_);
    own_facts().max_repeats = slots_.count();
  }

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] Enqueue enqueueing() const override { return Enqueue::blocks; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, count(1)) {
      check(vendor::prefetch(slots_.at(transfers()), slots_.bytes(), location_, any_node, stream),
            "gpuMemPrefetchAsync");
    }
  }

  void arm(std::uint64_t seed) override {
    GpuTransfer::arm(seed);
    slots_.fill(seed);
    home_ = 0;
  }
  void restore() override {
    slots_.bring_home(transfers());
    home_ = transfers();
  }
  /// Checks that the driver took the order, and that what it moved is whole.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    for (std::uint64_t turn = home_; turn < std::min(transfers(), home_ + slots_.count()); ++turn) {
      int found = 0;
      check(vendor::last_prefetch(slots_.at(turn), slots_.bytes(), &found), "gpuMemRangeGetAttribute");
      if (found == location_) continue;
      return Mismatch{"the driver says that pages of slot " + std::to_string(turn % slots_.count()) +
                      " were last sent to " + name_of(found) + ", not " + name_of(location_)};
    }
    return slots_.compare(seed, transfers());
  }
  [[nodiscard]] Bytes verified_bytes() const override { return slots_.touched(transfers()) * slots_.bytes(); }
  void flush() override { slots_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override {
    auto found = slots_.notes();
    found.emplace_back(launch_cost_inside);
    return found;
  }

 private:
  static constexpr int any_node = -1;

  static std::string name_of(int location) {
    if (location == host_location) return "the host";
    return location < 0 ? "several places" : DeviceId{DeviceKind::gpu, location}.text();
  }

  int device_;
  int location_;
  MigratingSlots slots_;
  std::uint64_t home_ = 0;  ///< transfers whose pages the last restore() brought home
};

Support can_prefetch(GpuContext& context, const Flow& flow) {
  if (const Support complete = has_ends(context, flow, Ends::source); !complete) return complete;
  if (!flow.source->traits.migrates) return Support::no("prefetch moves managed memory");
  if (goal_of(flow) == Goal::host && flow.source->device != flow.executor)
    return Support::no("to the host, the GPU that has the pages must be the executor");
  return can_migrate(context, *flow.source, destination_of(context, flow));
}

}  // namespace

Method prefetch(const std::shared_ptr<GpuContext>& context) {
  return migration_row(context,
                       {"prefetch",
                        "managed pages sent ahead (cudaMemPrefetchAsync, hipMemPrefetchAsync)",
                        Quantity::bandwidth,
                        {.migrates = true, .host_gbps = 15, .gpu_gbps = 15}},
                       {prefetch_goal}, &can_prefetch, &make<PrefetchTransfer>);
}

}  // namespace linkscope::gpu
