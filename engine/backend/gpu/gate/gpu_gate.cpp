// Holding, opening and collecting lanes.
#include "backend/gpu/gate/gpu_gate.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "backend/gpu/gate/lane.hpp"
#include "backend/gpu/gate/lane_group.hpp"
#include "backend/host/context.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr Seconds event_resolution = 0.5e-6;  // as the CUDA and HIP manuals give it
constexpr Seconds host_resolution = 0.05e-6;  // two readings of the steady clock
constexpr double a_tenth_of_a_percent = 1e-3;

GpuTransfer& gpu_transfer(const Lane& lane) {
  auto* transfer = dynamic_cast<GpuTransfer*>(lane.transfer);
  if (transfer == nullptr) throw Error(Fault::broken, "the GPU gate was given a transfer of another backend");
  return *transfer;
}

/// A blocking lane, or one on the host's clocks, is enqueued behind an open gate: no limit there.
void check_repeats(const Lane& lane, const GpuTransfer& transfer, Clock clock) {
  const bool behind_closed_gate = clock == Clock::device && transfer.enqueueing() == Enqueue::returns;
  if (!behind_closed_gate || lane.repeats + lane.tail <= transfer.facts().max_repeats) return;
  throw Error(Fault::broken, std::to_string(lane.repeats + lane.tail) +
                                 " repeats held back at once, the queue takes " +
                                 std::to_string(transfer.facts().max_repeats));
}

}  // namespace

GpuGate::GpuGate(std::shared_ptr<GpuContext> context) : context_(std::move(context)) {}

GpuGate::~GpuGate() {
  release();
  pool_.clear();
}

Support GpuGate::accepts(const Transfer& transfer) const {
  if (dynamic_cast<const GpuTransfer*>(&transfer) != nullptr) return Support::yes();
  return Support::no("no GPU carries this transfer");
}

host::Worker& GpuGate::worker_for(int device, std::size_t ordinal) {
  const auto& node = context_->host().topology().nearest_with_cpus(context_->device(device).numa);
  // From the last CPU on: the host's own lanes take the first ones.
  std::vector<int> cpus(node.cpus.rbegin(), node.cpus.rend());
  auto& pool = threads_.try_emplace(node.index, std::move(cpus)).first->second;
  // Whatever order cases come in, a lane's calls are made on the same CPU.
  const auto devices = static_cast<std::size_t>(context_->device_count());
  return pool.worker(ordinal * devices + static_cast<std::size_t>(device));
}

GpuLane& GpuGate::lane_of(int device, std::size_t ordinal, StreamPriority priority) {
  auto& lane = pool_[{device, ordinal, priority}];
  if (lane == nullptr) {
    lane = std::make_unique<GpuLane>(*context_, device, context_->lane_stream(device, ordinal, priority),
                                     *flag_, worker_for(device, ordinal));
  }
  return *lane;
}

const Timer& GpuGate::timer_of(int device) {
  context_->use(device);
  auto& timer = timers_[device];
  if (timer == nullptr) {
    timer = std::make_unique<Timer>(context_->service_stream(device));
  } else {
    timer->refresh();
  }
  return *timer;
}

void GpuGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  release();
  failure_ = std::make_unique<FirstFailure>();
  ++round_;
  try {
    assign(lanes, clock);
  } catch (...) {
    release();
    throw;
  }
  for (const auto& group : held_) group->start();
  for (const auto& group : held_) group->settle();
  if (!failure_->any()) return;
  release();
  failure_->rethrow();
}

/// All that may load, allocate or calibrate: it comes before the first gate closes.
void GpuGate::assign(const std::vector<Lane>& lanes, Clock clock) {
  std::map<int, std::size_t> ordinals;
  for (const Lane& lane : lanes) {
    GpuTransfer& transfer = gpu_transfer(lane);
    const int device = transfer.device();
    check_repeats(lane, transfer, clock);
    if (flag_ == nullptr) {
      context_->use(device);
      flag_ = std::make_unique<GateFlag>();
    }
    const std::size_t group = group_for(lane, transfer, clock);
    std::size_t place = held_[group]->place_of(device);
    if (place == held_[group]->size()) {
      const Timer* timer = clock == Clock::device ? &timer_of(device) : nullptr;
      place = held_[group]->add(lane_of(device, ordinals[device]++, transfer.priority()), timer);
    }
    places_.emplace_back(group, place);
  }
}

/// The group that this lane joins: that of the work it shares, on its GPU where each has a thread; else one of its own.
std::size_t GpuGate::group_for(const Lane& lane, GpuTransfer& transfer, Clock clock) {
  MultiGpuWork* const shared_work = transfer.shared_work();
  const auto fits = [&](const std::unique_ptr<LaneGroup>& group) {
    return group->shared_work() == shared_work && (shared_work->launch() == LaunchThreads::one_thread ||
                                                   group->place_of(transfer.device()) < group->size());
  };
  const auto known = shared_work == nullptr ? held_.end() : std::find_if(held_.begin(), held_.end(), fits);
  if (known != held_.end()) {
    const LaneGroup::StartSpec& spec = (*known)->spec();
    if (spec.repeats != lane.repeats || spec.tail != lane.tail) {
      throw Error(Fault::broken,
                  "flows that are sent by common calls must repeat alike: give them one tuning_group");
    }
    return static_cast<std::size_t>(known - held_.begin());
  }
  held_.push_back(std::make_unique<LaneGroup>(*context_, *flag_, *failure_, transfer,
                                              LaneGroup::StartSpec{clock, lane.repeats, lane.tail, round_}));
  return held_.size() - 1;
}

void GpuGate::open() {
  if (flag_ != nullptr) flag_->open(round_);
}

std::vector<Span> GpuGate::collect() {
  std::vector<Span> spans;
  try {
    for (const auto& group : held_) group->finish();
    if (failure_ != nullptr) failure_->rethrow();
    std::vector<std::vector<Span>> by_group;
    for (const auto& group : held_) by_group.push_back(group->spans());
    for (const auto& [group, place] : places_) spans.push_back(by_group[group][place]);
  } catch (...) {
    release();
    throw;
  }
  held_.clear();
  places_.clear();
  return spans;
}

void GpuGate::release() noexcept {
  if (flag_ != nullptr) flag_->open(round_);
  for (const auto& group : held_) group->finish();
  held_.clear();
  places_.clear();
}

Seconds GpuGate::resolution(Clock clock) const {
  return (clock == Clock::device ? event_resolution : host_resolution) / a_tenth_of_a_percent;
}

std::vector<Seconds> GpuGate::clock_errors() const {
  std::vector<Seconds> all;
  for (const auto& [device, timer] : timers_) all.push_back(timer->uncertainty());
  return all;
}

}  // namespace linkscope::gpu
