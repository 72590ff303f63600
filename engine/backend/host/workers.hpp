// WorkerPool: persistent threads, each pinned to one CPU of a NUMA node.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/units.hpp"

namespace linkscope::host {

/// One thread. Sleeps while it has nothing to do. Jobs must not throw.
class Worker {
 public:
  /// Starts a thread on any CPU that the process may use. Throws Error{broken} where the thread cannot be started.
  Worker();
  /// Starts a thread on one CPU. Throws Error{broken} where the thread cannot be started or pinned.
  explicit Worker(int cpu);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Moves the thread to another CPU, before its next job. Throws Error{broken}.
  void move_to(int cpu);
  /// Gives an idle worker its job and returns at once. Throws Error{broken} where its last job has not ended.
  void start(std::function<void()> job);
  /// Returns when the last job has ended.
  void wait() const;

 private:
  void serve();

  std::function<void()> job_;  // empty: leave
  std::atomic<std::uint32_t> given_{0};
  std::atomic<std::uint32_t> ended_{0};
  std::thread thread_;
};

/// The workers of one node, made when first asked for. They serve one caller at a time: Worker::start finds a second.
class WorkerPool {
 public:
  /// `cpus` in the order in which they shall be used; at least one.
  explicit WorkerPool(std::vector<int> cpus) : cpus_(std::move(cpus)) {}

  [[nodiscard]] const std::vector<int>& cpus() const { return cpus_; }
  /// Worker `index` runs on cpus()[index], and round again where there are more workers than CPUs.
  Worker& worker(std::size_t index);
  [[nodiscard]] int cpu_of(std::size_t index) const { return cpus_[index % cpus_.size()]; }

  using Piece = std::function<void(Bytes offset, Bytes length)>;
  /// Cuts [0, length) into page-aligned pieces, at most one per CPU and 32 in all, and runs `piece` on each,
  /// in parallel. Short ranges run on the caller: waking a thread costs more than they take.
  void share(Bytes length, const Piece& piece);
  /// Does the same, always on the workers: where it matters which node's thread does it.
  void share_pinned(Bytes length, const Piece& piece);
  /// Runs `job` on worker 0.
  void run(std::function<void()> job);

 private:
  std::vector<int> cpus_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace linkscope::host
