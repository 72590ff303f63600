// HostTransfer: a transfer that CPU threads carry out; what HostGate starts. StampedTransfer: one that several processes
// carry out together, each in one thread, and stamp themselves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/steady_clock.hpp"
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

/// The partners meet before each start and after it, outside the time, and the transfer stamps itself from there on: no
/// figure holds the time that one process waited for another to open its gate.
class StampedTransfer : public HostTransfer {
 public:
  explicit StampedTransfer(int node) : HostTransfer(node, 1) {}

  void expect(Clock clock) override {
    clock_ = clock;
    begun_ = false;
    span_.reset();
  }
  void perform(unsigned /*part*/, std::uint64_t first, std::uint64_t repeats) noexcept final {
    const std::optional<Span> span = carry_out(first, repeats);
    if (!begun_) span_ = span;
    begun_ = true;
  }
  /// Its own stamps. The length is the sum of the timed pieces; an aggregate holds what is between them too.
  [[nodiscard]] Span counted(const Span& span) final {
    if (!span_) return span;
    return {span_->start, span_->end, std::max(span.idle, span_->end), span_->between, span.interference};
  }

 protected:
  /// Meets the partners and carries out the repeats. Its span, or nothing where that failed.
  [[nodiscard]] virtual std::optional<Span> carry_out(std::uint64_t first,
                                                      std::uint64_t repeats) noexcept = 0;

  [[nodiscard]] Clock clock() const { return clock_; }
  /// Times `work(first, repeats)`, which says whether it can go on. On Clock::host each repeat has stamps of its own,
  /// as in OSU 7's loops: what they cost is seen in messages of 100 ns. The other clocks have one pair for all repeats,
  /// as older OSU had.
  template <class Work>
  [[nodiscard]] std::optional<Span> stamped(std::uint64_t first, std::uint64_t repeats,
                                            const Work& work) const noexcept {
    const std::uint64_t at_a_time = clock_ == Clock::host ? 1 : repeats;
    const Seconds start = steady_seconds();
    Seconds sum = 0;
    Seconds end = start;
    for (std::uint64_t done = 0; done < repeats; done += at_a_time) {
      const Seconds before = steady_seconds();
      const bool able = work(first + done, at_a_time);
      end = steady_seconds();
      sum += end - before;
      if (!able) return std::nullopt;
    }
    return Span{start, end, end, end - start - sum};
  }

 private:
  Clock clock_ = Clock::host;
  bool begun_ = false;  ///< this start's measured repeats; what follows is its tail
  std::optional<Span> span_;
};

}  // namespace linkscope::host
