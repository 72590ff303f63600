#include "workload/schedule_transfer.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "workload/message_work.hpp"
#include "workload/particle_work.hpp"

namespace linkscope::workload {
namespace {

constexpr int largest_count = 8;
constexpr SmallCollective barrier{.count = 0};

std::unique_ptr<PhaseWork> work_of(const RankContext& context) {
  if (context.schedule->particles) return std::make_unique<ParticleWork>(context);
  return std::make_unique<MessageWork>(context);
}

}  // namespace

ScheduleTransfer::ScheduleTransfer(const RankContext& context, std::unique_ptr<Packer> packer,
                                   std::unique_ptr<Transport> transport, RankThread thread)
    : HostTransfer(thread.node, 1),
      context_(context),
      packer_(std::move(packer)),
      transport_(std::move(transport)),
      thread_(std::move(thread)) {
  context_.packer = packer_.get();
  context_.transport = transport_.get();
  work_ = work_of(context_);
  std::size_t count = 0;
  for (const Loop& loop : context_.schedule->loops) count += loop.phases.size();
  phases_.assign(count, 0);
  parts_.assign(work_parts, 0);
}

ScheduleTransfer::~ScheduleTransfer() = default;

void ScheduleTransfer::arm(std::uint64_t seed) {
  restart();
  checked_ = false;
  wrong_.reset();
  transfers_ = 0;
  phases_.assign(phases_.size(), 0);
  parts_.assign(parts_.size(), 0);
  work_->arm(seed);
}

/// Called by the thread that starts the flows together: what it throws, the others learn by give_up().
void ScheduleTransfer::perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept {
  span_.reset();
  if (failure_) return;
  try {
    if (thread_.prepare) thread_.prepare();
    if (!std::exchange(checked_, true)) {
      check_each_phase();
      work_->spoil_all();
    }
    start();
    const Seconds begin = steady_seconds();
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) carry_out();
    transport_->collective(barrier, nullptr);  // nobody leaves before all have what they wait for
    transfers_ += repeats;
    for (std::size_t part = 0; part < work_parts; ++part) parts_[part] += clock_.seconds()[part];
    span_ = Span{begin, begin + clock_.counted(), begin + clock_.counted()};
  } catch (...) {
    failure_ = std::current_exception();
    transport_->give_up();
  }
}

void ScheduleTransfer::start() {
  transport_->collective(barrier, nullptr);
  clock_.restart();
}

/// Once each phase, with all ranks in step: what is spoiled here is not packed there.
void ScheduleTransfer::check_each_phase() {
  const std::vector<Loop>& loops = context_.schedule->loops;
  for (std::size_t loop = 0; loop < loops.size(); ++loop) {
    if (loops[loop].phases.empty()) continue;
    work_->begin_repeat({loop, 0}, clock_);
    for (std::size_t phase = 0; phase < loops[loop].phases.size(); ++phase) {
      const PhasePlace place{loop, phase};
      const bool last = phase + 1 == loops[loop].phases.size();
      work_->spoil(place);
      transport_->collective(barrier, nullptr);
      work_->carry_out(place, clock_);
      reduce(loops[loop].phases[phase]);
      if (last) work_->end_repeat({loop, 0}, clock_);
      transport_->collective(barrier, nullptr);
      auto what = work_->wrong(place);
      if (what && !wrong_) wrong_ = std::move(what);
    }
  }
}

void ScheduleTransfer::carry_out() {
  const std::vector<Loop>& loops = context_.schedule->loops;
  std::size_t number = 0;
  for (std::size_t loop = 0; loop < loops.size(); number += loops[loop++].phases.size()) {
    for (std::uint64_t repeat = 1; repeat <= loops[loop].repeats; ++repeat) {
      work_->begin_repeat({loop, 0}, clock_);
      for (std::size_t i = 0; i < loops[loop].phases.size(); ++i) {
        const Phase& phase = loops[loop].phases[i];
        if (repeat % phase.every != 0) continue;
        if (phase.gap_s > 0) wait_out(phase.gap_s);
        const Seconds before = clock_.counted();
        work_->carry_out({loop, i}, clock_);
        reduce(phase);
        phases_[number + i] += clock_.counted() - before;
      }
      work_->end_repeat({loop, 0}, clock_);
    }
  }
}

void ScheduleTransfer::reduce(const Phase& phase) {
  if (phase.collectives.empty()) return;
  std::int64_t numbers[largest_count] = {};
  std::vector<std::int64_t> many;
  for (const SmallCollective& one : phase.collectives) {
    std::int64_t* at = numbers;
    if (one.count > largest_count) {
      many.assign(static_cast<std::size_t>(one.count), 0);
      at = many.data();
    }
    transport_->collective(one, at);
  }
  clock_.lap(WorkPart::collectives);
}

void ScheduleTransfer::wait_out(Seconds gap) {
  const Seconds end = steady_seconds() + gap;
  while (steady_seconds() < end) {
  }
  clock_.lap(WorkPart::uncounted);
}

Span ScheduleTransfer::counted(const Span& span) {
  return span_ ? Span{span_->start, span_->end, std::max(span.idle, span_->end)} : span;
}

void ScheduleTransfer::rethrow() {
  if (failure_) std::rethrow_exception(failure_);
}

std::optional<Mismatch> ScheduleTransfer::verify(std::uint64_t /*seed*/) const {
  if (wrong_) return Mismatch{*wrong_};
  auto what = work_->wrong_at_end();
  if (what) return Mismatch{*std::move(what)};
  return std::nullopt;
}

std::optional<Breakdown> ScheduleTransfer::breakdown() const {
  if (transfers_ == 0) return std::nullopt;
  const auto times = static_cast<double>(transfers_);
  Breakdown told;
  for (std::size_t part = 0; part < static_cast<std::size_t>(WorkPart::uncounted); ++part) {
    if (parts_[part] > 0) told.parts[work_part_names[part]] = parts_[part] / times;
  }
  for (const Seconds phase : phases_) told.phases.push_back(phase / times);
  return told;
}

}  // namespace linkscope::workload
