#include "backend/gpu/migration/prefetch.hpp"

#include <algorithm>

#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr int the_host = -1;

enum class Goal { executor, host };

Goal goal_of(const Flow& flow) {
  const bool at_executor = flow.source && flow.source->device == flow.executor;
  const std::string word = flow.parameters.word("to", at_executor ? "host" : "executor");
  if (word == "executor") return Goal::executor;
  if (word == "host") return Goal::host;
  throw Error(Fault::bad_input, "parameter to: '" + word + "' is neither executor nor host");
}

/// Where the pages go: the node of the executor, where the host is the goal.
DeviceId destination_of(const GpuContext& context, const Flow& flow) {
  if (goal_of(flow) == Goal::executor) return flow.executor;
  return {DeviceKind::numa, std::max(0, context.device(flow.executor.index).numa)};
}

class PrefetchTransfer final : public GpuTransfer {
 public:
  PrefetchTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
      : device_(flow.executor.index),
        location_(goal_of(flow) == Goal::host ? the_host : device_),
        slots_(context, *arenas.source, flow.bytes, arenas.rotation, destination_of(*context, flow)) {
    context->use(device_);
    own_facts().max_repeats = slots_.count();
  }

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] Enqueue enqueueing() const override { return Enqueue::blocks; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, ++done_) {
      check(vendor::prefetch(slots_.at(done_), slots_.bytes(), location_, any_node, stream),
            "gpuMemPrefetchAsync");
    }
  }

  void arm(std::uint64_t seed) override {
    slots_.fill(seed);
    done_ = home_ = 0;
  }
  void restore() override {
    slots_.bring_home(done_);
    home_ = done_;
  }
  /// That the driver took the order, and that what it moved is whole.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    for (std::uint64_t turn = home_; turn < std::min(done_, home_ + slots_.count()); ++turn) {
      int found = 0;
      check(vendor::last_prefetch(slots_.at(turn), slots_.bytes(), &found), "gpuMemRangeGetAttribute");
      if (found == location_) continue;
      return Mismatch{"the driver says that pages of slot " + std::to_string(turn % slots_.count()) +
                      " were last sent to " + name_of(found) + ", not " + name_of(location_)};
    }
    return slots_.compare(seed, done_);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return slots_.touched(done_) * slots_.bytes(); }
  void flush() override { slots_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override {
    auto found = slots_.notes();
    found.emplace_back(launch_cost_inside);
    return found;
  }

 private:
  static constexpr int any_node = -1;

  static std::string name_of(int location) {
    if (location == the_host) return "the host";
    return location < 0 ? "several places" : DeviceId{DeviceKind::gpu, location}.text();
  }

  int device_;
  int location_;
  MigratingSlots slots_;
  std::uint64_t done_ = 0;  ///< since arm()
  std::uint64_t home_ = 0;  ///< of these, before the last restore()
};

}  // namespace

std::map<std::string, std::string> Prefetch::own_parameters() const {
  return {{"to",
           "executor: to the GPU that executes; host: to the host; default: host from the executor, else "
           "executor"}};
}

Support Prefetch::supports(const Flow& flow) const {
  if (const Support complete = has_ends(flow, Ends::source); !complete) return complete;
  if (!flow.source->traits.migrates) return Support::no("prefetch moves managed memory");
  if (goal_of(flow) == Goal::host && flow.source->device != flow.executor)
    return Support::no("to the host, the GPU that has the pages must be the executor");
  return can_migrate(context(), *flow.source, destination_of(context(), flow));
}

Bytes Prefetch::footprint(const Flow& flow) const { return migration_footprint(flow); }

Bytes Prefetch::rotation_bytes(const Flow& flow) const { return migration_rotation(flow); }

std::unique_ptr<Transfer> Prefetch::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<PrefetchTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
