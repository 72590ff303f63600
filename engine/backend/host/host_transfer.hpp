// HostTransfer: a transfer that CPU threads carry out; what HostGate starts.
#pragma once

#include <cstdint>

#include "model/transfer.hpp"

namespace linkscope::host {

class Worker;

/// `threads()` threads on the CPUs of `node()` each do their part of every repeat.
class HostTransfer : public Transfer {
 public:
  HostTransfer(int node, unsigned threads) : node_(node), threads_(threads) {}

  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] unsigned threads() const { return threads_; }

  /// The measured work: part `part` (of threads()) of `repeats` transfers, back to back. `first` counts the
  /// transfers done since arm(), so that every part finds its slot without sharing state. Must not throw.
  virtual void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept = 0;

  /// Who carries it out, where that can be no other thread (its only part then): the gate moves it to the CPU whose
  /// turn it is. Null: any worker of the node.
  [[nodiscard]] virtual Worker* own_worker() { return nullptr; }
  /// Called before every start with the clock it is timed by.
  virtual void expect(Clock /*clock*/) {}
  /// Throws what went wrong in the performs of the last start; the gate calls it once all threads have ended.
  virtual void rethrow() {}

  // The gate counts.
  using Transfer::count;
  using Transfer::transfers;

 private:
  int node_;
  unsigned threads_;
};

}  // namespace linkscope::host
