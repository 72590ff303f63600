#include "backend/host/host_gate.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::host {

/// One lane behind the gate.
struct HostGate::HeldLane {
  HeldLane(HostTransfer* held, const Lane& lane, Clock by)
      : transfer(held), repeats(lane.repeats), tail(lane.tail), clock(by), barrier(held->threads()) {}

  HostTransfer* transfer;
  std::uint64_t repeats;
  std::uint64_t tail;
  Clock clock;
  SpinBarrier barrier;  // of its threads, after each repeat on Clock::host
};

/// One thread's share of a lane.
struct HostGate::Runner {
  HeldLane* lane = nullptr;
  unsigned part = 0;
  int cpu = 0;
  Worker* worker = nullptr;
  SpinPolicy policy = SpinPolicy::spin_first;
  Span span;
};

/// Keeps the calling thread off the CPUs that measure, as far as there are others, and puts it back.
class HostGate::Aside {
 public:
  explicit Aside(const std::set<int>& taken) {
    CPU_ZERO(&before_);
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;  // more CPUs than the mask holds: stay
    cpu_set_t others = before_;
    for (int cpu : taken) {
      if (cpu < CPU_SETSIZE) CPU_CLR(static_cast<unsigned>(cpu), &others);
    }
    moved_ = CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0;
  }
  ~Aside() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

HostGate::HostGate(std::shared_ptr<HostContext> context) : context_(std::move(context)) {}

HostGate::~HostGate() { cancel(); }

Support HostGate::accepts(const Transfer& transfer) const {
  if (dynamic_cast<const HostTransfer*>(&transfer) != nullptr) return Support::yes();
  return Support::no("no CPU thread can carry this transfer out");
}

void HostGate::assign(const std::vector<Lane>& lanes, Clock clock) {
  std::map<WorkerPool*, std::size_t> used;
  std::map<int, unsigned> load;  // runners by CPU
  for (const Lane& lane : lanes) {
    auto* transfer = dynamic_cast<HostTransfer*>(lane.transfer);
    if (transfer == nullptr)
      throw Error(Fault::broken, "the host gate was given a transfer that is not the host's");
    transfer->expect(clock);
    lanes_.push_back(std::make_unique<HeldLane>(transfer, lane, clock));
    WorkerPool& pool = context_->workers(transfer->node());
    for (unsigned part = 0; part < transfer->threads(); ++part) {
      const std::size_t index = used[&pool]++;
      auto runner = std::make_unique<Runner>();
      runner->lane = lanes_.back().get();
      runner->part = part;
      runner->cpu = pool.cpu_of(index);
      runner->worker = transfer->own_worker();
      if (runner->worker == nullptr) {
        runner->worker = &pool.worker(index);
      } else {
        runner->worker->move_to(runner->cpu);
      }
      ++load[runner->cpu];
      runners_.push_back(std::move(runner));
    }
  }
  std::set<int> taken;
  for (const auto& runner : runners_) {
    if (load[runner->cpu] > 1) runner->policy = SpinPolicy::yield;
    taken.insert(runner->cpu);
  }
  aside_ = std::make_unique<Aside>(taken);
}

void HostGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  cancel();  // a start that another gate's failure left behind
  state_ = State::closed;
  ready_ = 0;
  assign(lanes, clock);
  for (const auto& runner : runners_) runner->worker->start([this, at = runner.get()] { serve(*at); });
  while (ready_.load(std::memory_order_acquire) != runners_.size()) std::this_thread::yield();
}

void HostGate::open() { state_.store(State::open, std::memory_order_release); }

std::vector<Span> HostGate::collect() {
  for (const auto& runner : runners_) runner->worker->wait();
  std::vector<Span> spans;
  std::vector<HostTransfer*> ended;
  auto runner = runners_.begin();
  for (const auto& lane : lanes_) {
    Span span = (*runner)->span;
    for (; runner != runners_.end() && (*runner)->lane == lane.get(); ++runner) {
      span.start = std::min(span.start, (*runner)->span.start);
      span.end = std::max(span.end, (*runner)->span.end);
      span.idle = std::max(span.idle, (*runner)->span.idle);
    }
    lane->transfer->count(lane->repeats + lane->tail);
    spans.push_back(span);
    ended.push_back(lane->transfer);
  }
  runners_.clear();
  lanes_.clear();
  aside_.reset();
  for (HostTransfer* transfer : ended) transfer->rethrow();
  return spans;
}

// 20 us: a stamp costs some 25 ns, so two of them stay near a tenth of a percent.
Seconds HostGate::resolution(Clock /*clock*/) const { return 20e-6; }

void HostGate::serve(Runner& runner) noexcept {
  HeldLane& lane = *runner.lane;
  HostTransfer& transfer = *lane.transfer;
  const std::uint64_t first = transfer.done();
  const bool meet = lane.clock == Clock::host && transfer.threads() > 1;
  ready_.fetch_add(1, std::memory_order_release);
  if (!wait_open(runner.policy)) return;
  runner.span.start = steady_seconds();
  const auto perform = [&](std::uint64_t from, std::uint64_t times) {
    if (!meet) transfer.perform(runner.part, from, times);
    for (std::uint64_t repeat = 0; meet && repeat < times; ++repeat) {
      transfer.perform(runner.part, from + repeat, 1);
      lane.barrier.arrive_and_wait();
    }
    return steady_seconds();
  };
  runner.span.end = runner.span.idle = perform(first, lane.repeats);
  if (lane.tail > 0) runner.span.idle = perform(first + lane.repeats, lane.tail);
}

bool HostGate::wait_open(SpinPolicy policy) const noexcept {
  Spin spin(policy);
  State state = State::closed;
  while ((state = state_.load(std::memory_order_acquire)) == State::closed) spin.once();
  return state == State::open;
}

void HostGate::cancel() noexcept {
  // Never once it is open: threads that went would wait forever for those of their lane that were sent home.
  State closed = State::closed;
  state_.compare_exchange_strong(closed, State::cancelled, std::memory_order_release,
                                 std::memory_order_relaxed);
  for (const auto& runner : runners_) runner->worker->wait();
  runners_.clear();
  lanes_.clear();
  aside_.reset();
}

}  // namespace linkscope::host
