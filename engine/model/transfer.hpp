// Transfer: one flow made ready to run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/flow.hpp"

namespace linkscope {

/// A launch shape: named whole numbers, as they stand in the row ("blocks" 264, "threads" 1024).
using Setting = std::vector<std::pair<std::string, std::int64_t>>;

/// Fixed once the transfer is ready to run, so that it can be asked at any time, kept, adjusted and sent to other
/// processes. What changes as it runs (bytes verified, remarks, what counts of a span) is asked of the transfer itself.
struct TransferFacts {
  /// Dependent operations in one transfer: 1 for a copy, the hops of a chase. Time is reported per operation.
  std::uint64_t operations = 1;
  /// Most repeats that one start may hold back: a GPU's queue is finite. Gate::hold refuses more.
  std::uint64_t max_repeats = std::numeric_limits<std::uint64_t>::max();
  /// The same on Clock::batch, where nothing is held back; 0: max_repeats there too.
  std::uint64_t max_calls_in_batch = 0;
  /// Repeats of a sample whose first and last wait for others, as far as the budget lasts (nccl-tests makes 20); 0: as
  /// many as make it long enough.
  std::uint64_t calls_in_a_row = 0;
  /// Its samples last at least as long, because of what happens between two starts; 0: no need.
  Seconds min_sample_s = 0;
  /// True where members exchange data: the measurement also makes transfers one by one, each with new inputs, and
  /// checks each, so that neither data of an earlier call nor a call that did nothing passes.
  bool collective = false;
  /// True where each transfer adds to what the last one left: verify() then holds of the first transfer since arm()
  /// alone, so those that are made one by one are all that is checked.
  bool accumulates = false;
  /// True where each start is checked by itself, so that a start of one transfer finds one that does nothing.
  bool checks_starts = false;
  /// Bytes read plus bytes written by one transfer, where users of a method expect that beside the payload (STREAM,
  /// local copies); 0: not stated.
  Bytes touched_bytes = 0;
  /// What it is sent with: transfers that name the same group go out by common calls, and so repeat equally often.
  /// Empty: by itself.
  std::string call_group;
  /// Launch shapes worth trying, best guess first; fewer than two: nothing to tune.
  std::vector<Setting> candidates;
  /// The launch shape that it has until another is chosen, for the row: of candidates, the first.
  Setting setting;
  /// True where it becomes ready while others run, one transfer a start, and how long it then waits is the figure:
  /// others need not outlast it, and their repeats stay as they are.
  bool arrives_late = false;

  bool operator==(const TransferFacts&) const = default;
  /// One start holds at most that many transfers, on every clock.
  void limit(std::uint64_t most) {
    max_repeats = std::min(max_repeats, most);
    if (max_calls_in_batch > 0) max_calls_in_batch = std::min(max_calls_in_batch, most);
  }
  /// Whichever of the two bounds holds on `clock`.
  [[nodiscard]] std::uint64_t most_repeats(Clock clock) const {
    return clock == Clock::batch && max_calls_in_batch > 0 ? max_calls_in_batch : max_repeats;
  }
  /// States `shapes` (each with a setting()) as the candidates, the first of which is in use.
  template <class Shapes>
  void offer(const Shapes& shapes) {
    candidates.clear();
    for (const auto& shape : shapes) candidates.push_back(shape.setting());
    setting = candidates.front();
  }
};

/// Where a verification failed: one line for the row, first bad offset included.
struct Mismatch {
  std::string what;
};

/// The slots a rotated transfer cycles through: slot i is at i * stride of its arenas.
struct Rotation {
  Bytes stride = 0;         ///< bytes from slot to slot: the payload rounded up to a page-friendly unit
  std::uint64_t slots = 1;  ///< 1: the same memory every time
  Bytes begin = 0;          ///< bytes of each slot before the payload, which makes it unaligned

  /// Bytes from the start of the arena to the payload of slot `index`, which there is.
  [[nodiscard]] Bytes at(std::uint64_t index) const { return index * stride + begin; }
};

/// The memory that messages take in turn.
struct Slots {
  std::byte* base = nullptr;
  Bytes stride = 0;
  std::uint64_t count = 1;

  /// Of message `index`. One slot costs no division: that would be seen in a message of 200 ns.
  [[nodiscard]] std::byte* at(std::uint64_t index) const noexcept {
    return count == 1 ? base : base + index % count * stride;
  }
};

/// What the machine took from the CPU threads of a lane in one start.
struct Interference {
  Seconds waited = 0;          ///< longest that one of them was ready to run and had no CPU
  Seconds apart = 0;           ///< from the first thread's start to the last one's
  std::uint64_t switches = 0;  ///< how often a CPU was taken from one of them

  bool operator==(const Interference&) const = default;
};

/// When one lane's work began and ended, in seconds on one timeline shared by all lanes of a start.
struct Span {
  Seconds start = 0;
  Seconds end = 0;
  Seconds idle = 0;  ///< when the lane's tail ended as well; `end` where it has none
  Seconds between =
      0;  ///< from start to end, but in none of the timed pieces: barriers that keep these apart
  Interference interference{};

  /// What counts as the time of the work. An aggregate of several lanes goes from start to end.
  [[nodiscard]] Seconds length() const { return end - start - between; }
};

/// Where the time of one transfer went, in seconds.
struct Breakdown {
  std::map<std::string, Seconds> parts;  ///< pack, wait, ...: they add up to the time
  std::vector<Seconds> phases;  ///< of a schedule, in its order: of all times that a phase took place

  bool operator==(const Breakdown&) const = default;
};

/// Lays the data of a transfer and looks at what arrived, each on the device that holds it.
class Check {
 public:
  virtual ~Check() = default;
  /// Fills sources with the pattern of `seed` and poisons destinations, in every slot a sample can reach.
  virtual void arm(std::uint64_t seed) = 0;
  /// Checks what `transfers` of them since arm(seed) delivered.
  [[nodiscard]] virtual std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const = 0;
  /// Bytes that verify() compares.
  [[nodiscard]] virtual Bytes verified_bytes(std::uint64_t transfers) const = 0;
  /// Flushes the CPU caches of the memory.
  virtual void flush() = 0;
  /// Lays again, before the next start, what `transfers` since arm() have used up.
  virtual void restore(std::uint64_t /*transfers*/) {}
};

/// A prepared flow. A backend derives from it and knows how to start its own kind (see Gate); what runs
/// between a Gate's stamps is the measured work and nothing else. It counts its transfers, and has a Check where it
/// moves data.
class Transfer {
 public:
  virtual ~Transfer() = default;

  [[nodiscard]] const TransferFacts& facts() const { return facts_; }

  /// Lays the data of a new round (see Check::arm), of which no transfer has run yet.
  virtual void arm(std::uint64_t seed) {
    if (check_) check_->arm(seed);
    seed_ = seed;
    transfers_ = 0;
  }
  /// Checks all that ran since arm(seed) delivered, on the device that holds it.
  [[nodiscard]] virtual std::optional<Mismatch> verify(std::uint64_t seed) const {
    return check_ ? check_->verify(seed, transfers_) : std::nullopt;
  }
  /// Why what ran since use() counts for nothing, where the work itself found that out: the launch shape in use is not
  /// to be chosen. Looks at no data. Throws Error{mismatch} where the work found data wrong: no other shape makes up
  /// for that.
  [[nodiscard]] virtual std::optional<Mismatch> fault() const { return std::nullopt; }
  /// Bytes that verify() compares: they grow with the slots that were reached.
  [[nodiscard]] virtual Bytes verified_bytes() const {
    return check_ ? check_->verified_bytes(transfers_) : 0;
  }
  /// Makes the next sample find the CPU caches flushed of this transfer's memory.
  virtual void flush() {
    if (check_) check_->flush();
  }

  /// Called before every start, unmeasured: brings back what a start consumes (pages to their home, handles to
  /// free). What arm() laid must survive it.
  virtual void restore() {
    if (check_) check_->restore(transfers_);
  }

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
  /// The same: what looks at its data.
  void set_check(std::unique_ptr<Check> check) { check_ = std::move(check); }
  /// Says that `transfers` more of them run.
  void count(std::uint64_t transfers) { transfers_ += transfers; }
  /// Says how many have run since arm().
  void set_transfers(std::uint64_t transfers) { transfers_ = transfers; }
  /// How many have run since arm(), and the seed that it was given.
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  TransferFacts facts_;
  std::unique_ptr<Check> check_;
  std::uint64_t seed_ = 0;
  std::uint64_t transfers_ = 0;
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
  /// Says whether this gate can start `transfer` (its own backend prepared it).
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
  /// How far each clock but the host's own that has stamped lanes of this process can be off the host's: one for each
  /// such device, in any order. Several processes put theirs together before they add.
  [[nodiscard]] virtual std::vector<Seconds> clock_errors() const { return {}; }
  /// How far apart two lanes' stamps of one moment can be: the two worst of clock_errors(), added. 0: one clock.
  [[nodiscard]] Seconds timeline_uncertainty() const {
    std::vector<Seconds> errors = clock_errors();
    errors.resize(std::max<std::size_t>(errors.size(), 2), 0);
    std::sort(errors.rbegin(), errors.rend());
    return errors[0] + errors[1];
  }
  /// What a hypervisor has taken so far of the CPUs that the last start used, in seconds of one CPU; 0 where unknown.
  [[nodiscard]] virtual Seconds stolen() const { return 0; }
};

}  // namespace linkscope
