// The enqueueing of a group's lanes, by the thread and at the time that it takes.
#include "backend/gpu/gate/lane_group.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::gpu {

void FirstFailure::keep(std::exception_ptr failure) noexcept {
  const std::scoped_lock lock(mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
}

bool FirstFailure::any() const {
  const std::scoped_lock lock(mutex_);
  return failure_ != nullptr;
}

void FirstFailure::rethrow() const {
  if (any()) std::rethrow_exception(failure_);
}

LaneGroup::LaneGroup(GpuContext& context, GateFlag& flag, FirstFailure& failure, GpuTransfer& transfer,
                     const StartSpec& spec)
    : context_(context),
      flag_(flag),
      failure_(failure),
      transfer_(transfer),
      shared_work_(transfer.shared_work()),
      spec_(spec) {}

LaneGroup::~LaneGroup() { join(); }

std::size_t LaneGroup::add(GpuLane& lane, const Timer* timer) {
  lanes_.push_back(&lane);
  timers_.push_back(timer);
  streams_.push_back({lane.device(), lane.stream()});
  return lanes_.size() - 1;
}

std::size_t LaneGroup::place_of(int device) const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const GpuLane* lane) { return lane->device() == device; });
  return static_cast<std::size_t>(found - lanes_.begin());
}

void LaneGroup::start() {
  if (spec_.clock != Clock::device) {
    run_on_thread(Begin::when_open, &LaneGroup::run_on_host_clock);
  } else if (shared_work_ != nullptr && shared_work_->launch() == LaunchThreads::thread_per_gpu) {
    run_on_thread(Begin::at_once, &LaneGroup::enqueue_gated);
  } else if (shared_work_ == nullptr && transfer_.enqueueing() == Enqueue::blocks) {
    run_on_thread(Begin::when_open, &LaneGroup::enqueue_gated);
  } else {
    try {
      context_.use(lanes_.front()->device());
      enqueue_gated();
    } catch (...) {
      fail();
    }
  }
}

void LaneGroup::settle() {
  if (begin_ == Begin::at_once) join();
}

void LaneGroup::finish() noexcept {
  join();
  if (lanes_.empty()) return;
  try {
    context_.use(lanes_.front()->device());
    if (spec_.clock == Clock::device) static_cast<void>(wait_for_streams());
  } catch (...) {
    fail();
  }
  // What was given up still ends, and must have before its memory goes.
  if (failure_.any()) gpu::drain(streams_);
}

std::vector<Span> LaneGroup::spans() const {
  if (spec_.clock != Clock::device) return host_spans_;
  std::vector<Span> spans;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    context_.use(lanes_[i]->device());
    spans.push_back(lanes_[i]->span(*timers_[i], spec_.tail == 0 ? Tail::none : Tail::some));
  }
  return spans;
}

void LaneGroup::run_on_thread(Begin begin, void (LaneGroup::*job)()) {
  begin_ = begin;
  threaded_ = true;
  lanes_.front()->worker().start([this, job] {
    try {
      LINKSCOPE_CHECK(gpuSetDevice(lanes_.front()->device()));
      while (begin_ == Begin::when_open && !flag_.is_open(spec_.round)) std::this_thread::yield();
      (this->*job)();
    } catch (...) {
      fail();
    }
  });
}

void LaneGroup::join() noexcept {
  if (threaded_) lanes_.front()->worker().wait();
  threaded_ = false;
}

/// Keeps what is being thrown. Threads that wait for this group's share of common work must be let go, and kernels can
/// be only once their gate is open.
void LaneGroup::fail() noexcept {
  failure_.keep(std::current_exception());
  if (shared_work_ == nullptr) return;
  flag_.open(spec_.round);
  shared_work_->give_up();
}

void LaneGroup::enqueue_gated() {
  const auto on_each = [this](auto&& stamp) {
    for (GpuLane* lane : lanes_) {
      if (lanes_.size() > 1) LINKSCOPE_CHECK(gpuSetDevice(lane->device()));
      stamp(*lane);
    }
  };
  on_each([this](GpuLane& lane) {
    lane.close(spec_.round);
    if (transfer_.latest_arrival() > 0) {
      lane.arrive_late(transfer_.latest_arrival());  // and finds the engines as others keep them
    } else if (shared_work_ == nullptr) {
      transfer_.lead_in(lane.stream());
    }
    lane.stamp_start();
  });
  enqueue(spec_.repeats);
  on_each([](GpuLane& lane) { lane.stamp_end(); });
  if (spec_.tail == 0) return;
  enqueue(spec_.tail);
  on_each([](GpuLane& lane) { lane.stamp_idle(); });
}

void LaneGroup::run_on_host_clock() {
  const Seconds start = steady_seconds();
  const std::vector<Seconds> ends = call_and_complete(spec_.repeats);
  const std::vector<Seconds> idle = spec_.tail == 0 ? ends : call_and_complete(spec_.tail);
  for (std::size_t i = 0; i < lanes_.size(); ++i) host_spans_.push_back({start, ends[i], idle[i]});
}

std::vector<Seconds> LaneGroup::call_and_complete(std::uint64_t times) {
  const std::uint64_t at_once = spec_.clock == Clock::host ? 1 : times;
  std::vector<Seconds> ends;
  for (std::uint64_t done = 0; done < times; done += at_once) {
    enqueue(at_once);
    ends = wait_for_streams();
  }
  return ends;
}

void LaneGroup::enqueue(std::uint64_t repeats) {
  if (shared_work_ == nullptr) {
    transfer_.enqueue(lanes_.front()->stream(), repeats);
  } else {
    shared_work_->enqueue(streams_, repeats);
  }
}

std::vector<Seconds> LaneGroup::wait_for_streams() {
  if (shared_work_ != nullptr) return wait_for(*shared_work_, streams_);
  LINKSCOPE_CHECK(gpuStreamSynchronize(lanes_.front()->stream()));
  return {steady_seconds()};
}

}  // namespace linkscope::gpu
