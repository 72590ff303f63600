// Transfer: one flow made ready to run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/flow.hpp"
#include "model/support.hpp"
#include "model/transfer_facts.hpp"

namespace linkscope {

/// Where a verification failed: one line for the row, first bad offset included.
struct Mismatch {
  std::string what;
};

/// The slots a rotated transfer cycles through: slot i is at i * stride of its arenas.
struct Rotation {
  Bytes stride = 0;         ///< bytes from slot to slot: the payload rounded up to a page-friendly unit
  std::uint64_t slots = 1;  ///< 1: the same memory every time
};

/// When one lane's work began and ended, in seconds on one timeline shared by all lanes of a start.
struct Span {
  Seconds start = 0;
  Seconds end = 0;
  Seconds idle = 0;  ///< when the lane's tail ended as well; `end` where it has none
  [[nodiscard]] Seconds length() const { return end - start; }
};

/// Where the time of one transfer went, in seconds.
struct Breakdown {
  std::map<std::string, Seconds> parts;  ///< pack, wait, ...: they add up to the time
  std::vector<Seconds> phases;  ///< of a schedule, in its order: of all times that a phase took place

  bool operator==(const Breakdown&) const = default;
};

/// A prepared flow. A backend derives from it and knows how to start its own kind (see Gate); what runs
/// between a Gate's stamps is the measured work and nothing else.
class Transfer {
 public:
  virtual ~Transfer() = default;

  [[nodiscard]] const TransferFacts& facts() const { return facts_; }

  /// Fills sources with the pattern of `seed` and poisons destinations, in every slot a sample can reach.
  virtual void arm(std::uint64_t seed) = 0;
  /// Checks all that ran since arm(seed) delivered, on the device that holds it.
  [[nodiscard]] virtual std::optional<Mismatch> verify(std::uint64_t seed) const = 0;
  /// Why what ran since use() counts for nothing, where the work itself found that out: the launch shape in use is not
  /// to be chosen. Looks at no data. Throws Error{mismatch} where the work found data wrong: no other shape makes up
  /// for that.
  [[nodiscard]] virtual std::optional<Mismatch> fault() const { return std::nullopt; }
  /// Bytes that verify() compares: they grow with the slots that were reached.
  [[nodiscard]] virtual Bytes verified_bytes() const = 0;
  /// Makes the next sample find the CPU caches flushed of this transfer's memory.
  virtual void flush() = 0;

  /// Called before every start, unmeasured: brings back what a start consumes (pages to their home, handles to
  /// free). What arm() laid must survive it.
  virtual void restore() {}

  /// What counts of the span of the start that has just ended: less than all of it where work was inside that only
  /// makes the measured work possible, and that the transfer has timed itself. Called once for each start.
  [[nodiscard]] virtual Span counted(const Span& span) { return span; }

  /// The mean over all transfers since arm(), of those that count; nothing where the transfer does not tell.
  [[nodiscard]] virtual std::optional<Breakdown> breakdown() const { return std::nullopt; }

  /// Uses `setting` (one of facts().candidates) from now on.
  virtual void use(const Setting& /*setting*/) {}
  /// Remarks for the row, of what is so when they are asked for: where pages are found, the shape in use.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

 protected:
  /// For constructors: what facts() says from then on.
  [[nodiscard]] TransferFacts& own_facts() { return facts_; }

 private:
  TransferFacts facts_;
};

/// A transfer and how often it repeats, back to back, in one start.
struct Lane {
  Transfer* transfer = nullptr;
  std::uint64_t repeats = 1;
  std::uint64_t tail = 0;  ///< further repeats after the end stamp: load for the others, not timed
};

/// Starts lanes together and times each. One per backend; `run` joins them where a case mixes host and GPU lanes.
/// Every stamp is on the host's steady clock (seconds since its epoch), so spans of different gates compare.
class Gate {
 public:
  virtual ~Gate() = default;
  /// Whether this gate can start `transfer` (its own backend prepared it).
  [[nodiscard]] virtual Support accepts(const Transfer& transfer) const = 0;
  /// Makes every lane ready behind the closed gate. Clock::device: all enqueueing that can be done before is done.
  virtual void hold(const std::vector<Lane>& lanes, Clock clock) = 0;
  /// Opens the gate: every held lane starts.
  virtual void open() = 0;
  /// Waits for the ends; a span per held lane, in order. Clock::host: call to completion, repeats one by one.
  /// Throws Error{broken} or Error{fatal}.
  virtual std::vector<Span> collect() = 0;
  /// hold, open, collect.
  std::vector<Span> run(const std::vector<Lane>& lanes, Clock clock) {
    hold(lanes, clock);
    open();
    return collect();
  }
  /// Shortest span that this clock resolves to better than a tenth of a percent.
  [[nodiscard]] virtual Seconds resolution(Clock clock) const = 0;
  /// How far apart two lanes' stamps of one moment can be (0: one clock).
  [[nodiscard]] virtual Seconds timeline_uncertainty() const { return 0; }
};

}  // namespace linkscope
