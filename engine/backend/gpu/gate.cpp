// Holding, opening and collecting lanes.
#include "backend/gpu/gate.hpp"

#include <map>
#include <string>

#include "backend/gpu/lane.hpp"
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

/// A blocking or host-clock lane is enqueued behind an open gate: no limit there.
void check_repeats(const Lane& lane, const GpuTransfer& transfer, Clock clock) {
  const bool behind_closed_gate = clock == Clock::device && transfer.enqueueing() == Enqueue::returns;
  if (!behind_closed_gate || lane.repeats + lane.tail <= transfer.max_repeats()) return;
  throw Error(Fault::broken, std::to_string(lane.repeats + lane.tail) +
                                 " repeats held back at once, the queue takes " +
                                 std::to_string(transfer.max_repeats()));
}

}  // namespace

GpuGate::GpuGate(std::shared_ptr<Context> context) : context_(std::move(context)) {}

GpuGate::~GpuGate() {
  release();
  pool_.clear();
}

Support GpuGate::accepts(const Transfer& transfer) const {
  if (dynamic_cast<const GpuTransfer*>(&transfer) != nullptr) return Support::yes();
  return Support::no("no GPU carries this transfer");
}

host::Worker& GpuGate::worker_for(int device) {
  const auto& node = context_->host().topology().nearest_with_cpus(context_->device(device).numa);
  // From the last CPU on: the host's own lanes take the first ones.
  std::vector<int> cpus(node.cpus.rbegin(), node.cpus.rend());
  auto& [pool, taken] =
      threads_.try_emplace(node.index, host::WorkerPool(std::move(cpus)), std::size_t{0}).first->second;
  return pool.worker(taken++);
}

GpuLane& GpuGate::lane_of(int device, std::size_t ordinal) {
  auto& lane = pool_[{device, ordinal}];
  if (lane == nullptr) {
    if (flag_ == nullptr) {
      context_->use(device);
      flag_ = std::make_unique<GateFlag>();
    }
    lane = std::make_unique<GpuLane>(*context_, device, context_->lane_stream(device, ordinal), *flag_,
                                     worker_for(device));
  }
  return *lane;
}

void GpuGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  release();
  ++round_;
  std::map<int, std::size_t> ordinals;
  std::vector<GpuLane*> chosen;
  std::vector<const Timer*> timers;
  for (const Lane& lane :
       lanes) {  // all that may load, allocate or calibrate comes before the first closed gate
    const GpuTransfer& transfer = gpu_transfer(lane);
    check_repeats(lane, transfer, clock);
    chosen.push_back(&lane_of(transfer.device(), ordinals[transfer.device()]++));
    timers.push_back(clock == Clock::device ? &context_->timer(transfer.device()) : nullptr);
  }
  try {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      held_.push_back(chosen[i]);
      chosen[i]->hold(gpu_transfer(lanes[i]), lanes[i], timers[i], round_);
    }
  } catch (...) {
    release();
    throw;
  }
}

void GpuGate::open() {
  if (flag_ != nullptr) flag_->open(round_);
}

std::vector<Span> GpuGate::collect() {
  std::vector<Span> spans;
  try {
    for (GpuLane* lane : held_) spans.push_back(lane->collect());
  } catch (...) {
    release();
    throw;
  }
  held_.clear();
  return spans;
}

void GpuGate::release() noexcept {
  open();
  for (GpuLane* lane : held_) {
    try {
      static_cast<void>(lane->collect());
    } catch (...) {
      continue;  // the first failure is the one that is told
    }
  }
  held_.clear();
}

Seconds GpuGate::resolution(Clock clock) const {
  return (clock == Clock::device ? event_resolution : host_resolution) / a_tenth_of_a_percent;
}

Seconds GpuGate::timeline_uncertainty() const { return context_->timer_uncertainty(); }

}  // namespace linkscope::gpu
