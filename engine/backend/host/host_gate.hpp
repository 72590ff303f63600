// HostGate: starts CPU lanes together and stamps each on the steady clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"
#include "backend/host/spin.hpp"
#include "model/transfer.hpp"

namespace linkscope::host {

/// Every thread of every lane waits awake, pinned to a CPU of its lane's node, for one flag. Lanes take different CPUs
/// as long as there are any; the calling thread keeps off them while they run. Where every thread has a CPU of its own,
/// the flag is set when all have just answered that they are on it, and none yields it from then on. Threads stamp
/// themselves when they see the flag and when their work is done; a lane's span is its first start to its last end. To
/// the gate, the clocks differ for lanes of several threads only: Clock::host makes them meet after each repeat, as
/// callers of a parallel copy would.
class HostGate final : public Gate {
 public:
  explicit HostGate(std::shared_ptr<HostContext> context);
  ~HostGate() override;

  [[nodiscard]] Support accepts(const Transfer& transfer) const override;
  void hold(const std::vector<Lane>& lanes, Clock clock) override;
  void open() override;
  std::vector<Span> collect() override;
  [[nodiscard]] Seconds resolution(Clock clock) const override;
  [[nodiscard]] Seconds stolen() const override;

 private:
  struct CpuTime;
  struct Runner;
  struct HeldLane;
  class Aside;
  enum class State : int { closed, open, cancelled };

  void assign(const std::vector<Lane>& lanes, Clock clock);
  void serve(Runner& runner) noexcept;
  void wake_all() noexcept;
  [[nodiscard]] bool wait_open(Runner& runner) const noexcept;
  void cancel() noexcept;

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

}  // namespace linkscope::host
