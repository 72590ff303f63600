// HostGate: starts CPU lanes together and stamps each on the steady clock.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "backend/host/backend.hpp"
#include "backend/host/host_transfer.hpp"
#include "backend/host/spin.hpp"
#include "backend/host/topology.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::host {

namespace {

/// All have seen a roll call within this time: each has a CPU.
constexpr Seconds prompt = 100e-6;
/// Roll calls end after this time: a stranger keeps a CPU for some milliseconds, two of them by turns for longer.
constexpr Seconds patience = 10e-3;

/// The time on CPUs that the kernel has given the calling thread so far.
struct CpuTime {
  Seconds wall = 0;
  Seconds on_cpu = 0;
  long taken = 0;  ///< how often the kernel took its CPU
  long given = 0;  ///< how often the thread gave its CPU up, to sleep

  static CpuTime now() noexcept {
    timespec clock{};
    rusage usage{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &clock);
    getrusage(RUSAGE_THREAD, &usage);
    return {steady_seconds(), static_cast<Seconds>(clock.tv_sec) + 1e-9 * static_cast<Seconds>(clock.tv_nsec),
            usage.ru_nivcsw, usage.ru_nvcsw};
  }
  /// Without a CPU since `before`. Where the thread has slept meanwhile, nobody knows how much of that was its wish.
  [[nodiscard]] Seconds waited_since(const CpuTime& before) const {
    return given > before.given ? 0 : std::max(0.0, (wall - before.wall) - (on_cpu - before.on_cpu));
  }
};

/// One lane behind the gate.
struct HeldLane {
  HeldLane(HostTransfer* held, const Lane& lane, Clock by)
      : transfer(held), repeats(lane.repeats), tail(lane.tail), clock(by), barrier(held->threads()) {}

  HostTransfer* transfer;
  std::uint64_t repeats;
  std::uint64_t tail;
  Clock clock;
  SpinBarrier barrier;  // of its threads, after each repeat on Clock::host
};

/// One thread's share of a lane.
struct alignas(64) Runner {
  HeldLane* lane = nullptr;
  unsigned part = 0;
  int cpu = 0;
  Worker* worker = nullptr;
  SpinPolicy policy = SpinPolicy::spin_first;
  std::atomic<unsigned> heard{0};  ///< the last roll call that it has answered
  CpuTime before;
  Span span;
};

/// Keeps the calling thread off the CPUs that measure, as far as there are others, and puts it back.
class Aside {
 public:
  explicit Aside(const std::set<int>& taken) : before_(CpuSet::of_this_thread()) {
    std::vector<int> others = before_.cpus();
    std::erase_if(others, [&](int cpu) { return taken.contains(cpu); });
    moved_ = !others.empty() && CpuSet(others).keep(pthread_self()) == 0;
  }
  ~Aside() {
    if (moved_) static_cast<void>(before_.keep(pthread_self()));
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Tells whether the calling thread is off all of them.
  [[nodiscard]] bool moved() const { return moved_; }

 private:
  CpuSet before_;
  bool moved_ = false;
};

/// Every thread of every lane waits awake, pinned to a CPU of its lane's node, for one flag. Lanes take different CPUs
/// as long as there are any; the calling thread keeps off them while they run. Where every thread has a CPU of its own,
/// the flag is set when all have just answered that they are on it, and none yields it from then on. Threads stamp
/// themselves when they see the flag and when their work is done; a lane's span is its first start to its last end. To
/// the gate, the clocks differ for lanes of several threads only: Clock::host makes them meet after each repeat, as
/// callers of a parallel copy would.
class HostGate final : public Gate {
 public:
  explicit HostGate(std::shared_ptr<HostContext> context) : context_(std::move(context)) {}
  ~HostGate() override { cancel(); }

  [[nodiscard]] Support accepts(const Transfer& transfer) const override {
    if (dynamic_cast<const HostTransfer*>(&transfer) != nullptr) return Support::yes();
    return Support::no("no CPU thread can carry this transfer out");
  }

  void hold(const std::vector<Lane>& lanes, Clock clock) override {
    cancel();  // a start that another gate's failure left behind
    state_ = State::closed;
    ready_ = 0;
    roll_call_ = 0;
    assign(lanes, clock);
    for (const auto& runner : runners_) runner->worker->start([this, at = runner.get()] { serve(*at); });
    while (ready_.load(std::memory_order_acquire) != runners_.size()) std::this_thread::yield();
  }

  void open() override {
    if (own_cpus_) wake_all();
    state_.store(State::open, std::memory_order_release);
  }

  std::vector<Span> collect() override {
    for (const auto& runner : runners_) runner->worker->wait();
    std::vector<Span> spans;
    std::vector<HostTransfer*> ended;
    auto runner = runners_.begin();
    for (const auto& lane : lanes_) {
      const Runner* const first = runner->get();
      Span span = first->span;
      Seconds last_start = span.start;
      for (; runner != runners_.end() && (*runner)->lane == lane.get(); ++runner) {
        const Span& own = (*runner)->span;
        last_start = std::max(last_start, own.start);
        span.start = std::min(span.start, own.start);
        span.end = std::max(span.end, own.end);
        span.idle = std::max(span.idle, own.idle);
        span.interference.waited = std::max(span.interference.waited, own.interference.waited);
        if (runner->get() != first) span.interference.switches += own.interference.switches;
      }
      span.interference.apart = last_start - span.start;
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
  [[nodiscard]] Seconds resolution(Clock /*clock*/) const override { return 20e-6; }

  [[nodiscard]] Seconds stolen() const override {
    std::ifstream file("/proc/stat");
    Seconds ticks = 0;
    for (std::string line; !taken_.empty() && std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      if (!name.starts_with("cpu")) break;
      if (name == "cpu" || !taken_.contains(std::stoi(name.substr(3)))) continue;
      constexpr int before_steal = 7;  // user, nice, system, idle, iowait, irq, softirq
      std::uint64_t value = 0;
      for (int field = 0; field <= before_steal; ++field) words >> value;
      ticks += static_cast<Seconds>(value);
    }
    return ticks / static_cast<Seconds>(sysconf(_SC_CLK_TCK));
  }

 private:
  enum class State : int { closed, open, cancelled };

  void assign(const std::vector<Lane>& lanes, Clock clock) {
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
    taken_.clear();
    for (const auto& runner : runners_) taken_.insert(runner->cpu);
    aside_ = std::make_unique<Aside>(taken_);
    own_cpus_ = aside_->moved() &&
                std::all_of(load.begin(), load.end(), [](const auto& on) { return on.second == 1; });
    for (const auto& runner : runners_) {
      if (own_cpus_) {
        runner->policy = SpinPolicy::own;
      } else if (load[runner->cpu] > 1) {
        runner->policy = SpinPolicy::yield;
      }
    }
  }

  /// Calls the roll until all threads answer promptly: a thread that another has put off its CPU would begin milliseconds
  /// late, and that would be counted as time of the transfer.
  void wake_all() noexcept {
    const Seconds begin = steady_seconds();
    for (Seconds now = begin; now < begin + patience;) {
      const unsigned round = roll_call_.fetch_add(1, std::memory_order_release) + 1;
      const Seconds called = now;
      const auto answered = [round](const auto& runner) {
        return runner->heard.load(std::memory_order_acquire) == round;
      };
      for (Spin spin(SpinPolicy::own); !std::all_of(runners_.begin(), runners_.end(), answered);
           spin.once()) {
        if (steady_seconds() > begin + patience) return;
      }
      now = steady_seconds();
      if (now - called < prompt) return;
    }
  }

  void serve(Runner& runner) noexcept {
    HeldLane& lane = *runner.lane;
    HostTransfer& transfer = *lane.transfer;
    const std::uint64_t first = transfer.transfers();
    const bool meet = lane.clock == Clock::host && transfer.threads() > 1;
    ready_.fetch_add(1, std::memory_order_release);
    if (!wait_open(runner)) return;
    if (runner.heard.load(std::memory_order_relaxed) == 0) runner.before = CpuTime::now();
    runner.span.start = steady_seconds();
    const auto perform = [&](std::uint64_t from, std::uint64_t times) {
      if (!meet) transfer.perform(runner.part, from, times);
      for (std::uint64_t repeat = 0; meet && repeat < times; ++repeat) {
        transfer.perform(runner.part, from + repeat, 1);
        lane.barrier.arrive_and_wait(runner.policy);
      }
      return steady_seconds();
    };
    runner.span.end = runner.span.idle = perform(first, lane.repeats);
    if (lane.tail > 0) runner.span.idle = perform(first + lane.repeats, lane.tail);
    if (runner.policy == SpinPolicy::yield) return;  // its CPU is not its own
    const CpuTime after = CpuTime::now();
    runner.span.interference.waited = after.waited_since(runner.before);
    runner.span.interference.switches = static_cast<std::uint64_t>(after.taken - runner.before.taken);
  }

  /// Gives the CPU to whoever wants it until the first roll call: the start may be long in coming.
  [[nodiscard]] bool wait_open(Runner& runner) const noexcept {
    Spin spin(runner.policy == SpinPolicy::own ? SpinPolicy::spin_first : runner.policy);
    State state = State::closed;
    while ((state = state_.load(std::memory_order_acquire)) == State::closed) {
      const unsigned round = roll_call_.load(std::memory_order_acquire);
      if (round != runner.heard.load(std::memory_order_relaxed)) {
        runner.before = CpuTime::now();
        runner.heard.store(round, std::memory_order_release);
        spin = Spin(SpinPolicy::own);
      }
      spin.once();
    }
    return state == State::open;
  }

  void cancel() noexcept {
    // Never once it is open: threads that went would wait forever for those of their lane that were sent home.
    State closed = State::closed;
    state_.compare_exchange_strong(closed, State::cancelled, std::memory_order_release,
                                   std::memory_order_relaxed);
    for (const auto& runner : runners_) runner->worker->wait();
    runners_.clear();
    lanes_.clear();
    aside_.reset();
  }

  std::shared_ptr<HostContext> context_;
  std::vector<std::unique_ptr<HeldLane>> lanes_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::unique_ptr<Aside> aside_;
  std::set<int> taken_;    ///< CPUs of the last start
  bool own_cpus_ = false;  ///< each is of one thread, and the calling thread is on none
  std::atomic<State> state_{State::closed};
  std::atomic<unsigned> roll_call_{0};  ///< how often the roll was called
  std::atomic<unsigned> ready_{0};
};

}  // namespace

std::unique_ptr<Gate> host_gate(std::shared_ptr<HostContext> context) {
  return std::make_unique<HostGate>(std::move(context));
}

}  // namespace linkscope::host
