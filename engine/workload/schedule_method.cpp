// What the methods that carry schedules out have in common: one rank, which carries its schedule out phase by phase and
// knows where its time went, and its part of a flow.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "workload/halo_layout.hpp"
#include "workload/host_packer.hpp"
#include "workload/methods.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {
namespace {

constexpr SmallCollective barrier{.count = 0};

class ScheduleTransfer final : public host::HostTransfer {
 public:
  ScheduleTransfer(RankContext context, RankThread thread)
      : HostTransfer(thread.node, 1),
        schedule_(context.schedule),
        rank_(context.rank),
        transport_(context.transport.get()),
        work_(schedule_->particles ? particle_work(std::move(context)) : message_work(std::move(context))),
        thread_(std::move(thread)) {
    std::size_t count = 0;
    for (const Loop& loop : schedule_->loops) {
      count += loop.phases.size();
      for (const Phase& phase : loop.phases) {
        for (const SmallCollective& one : phase.collectives) {
          std::vector<std::byte>& own = own_numbers_[static_cast<std::size_t>(one.type)];
          own.resize(std::max(own.size(), one.bytes()));
          reduced_.resize(std::max(reduced_.size(), own.size()));
          write_own_numbers(one.type, one.count, rank_, own.data());
        }
      }
    }
    phases_.assign(count, 0);
    parts_.assign(work_parts, 0);
  }

  [[nodiscard]] host::Worker* own_worker() override { return thread_.worker; }
  void expect(Clock /*clock*/) override { span_.reset(); }
  /// Called by the thread that starts the flows together: what it throws, the others learn by give_up().
  void perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept override {
    if (failure_) return;
    try {
      if (thread_.prepare) thread_.prepare();
      if (!std::exchange(checked_, true)) {
        check_each_phase();
        work_->spoil_all();
      }
      transport_->collective(barrier, nullptr);
      clock_.restart();
      const Seconds begin = steady_seconds();
      for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) carry_out();
      transport_->collective(barrier, nullptr);  // nobody leaves before all have what they wait for
      transfers_ += repeats;
      for (std::size_t part = 0; part < work_parts; ++part) parts_[part] += clock_.seconds()[part];
      if (!span_) span_ = Span{begin, begin + clock_.counted(), begin + clock_.counted()};
    } catch (...) {
      failure_ = std::current_exception();
      transport_->give_up();
    }
  }

  [[nodiscard]] Span counted(const Span& span) override {
    return span_ ? Span{span_->start, span_->end, std::max(span.idle, span_->end), 0, span.interference}
                 : span;
  }

  void rethrow() override {
    if (failure_) std::rethrow_exception(failure_);
  }

  void arm(std::uint64_t seed) override {
    HostTransfer::arm(seed);
    checked_ = false;
    wrong_.reset();
    transfers_ = 0;
    phases_.assign(phases_.size(), 0);
    parts_.assign(parts_.size(), 0);
    work_->arm(seed);
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    if (wrong_) return Mismatch{*wrong_};
    auto what = work_->wrong_at_end();
    if (what) return Mismatch{*std::move(what)};
    return std::nullopt;
  }

  [[nodiscard]] Bytes verified_bytes() const override { return work_->checked_bytes(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return thread_.notes; }
  [[nodiscard]] std::optional<Breakdown> breakdown() const override {
    if (transfers_ == 0) return std::nullopt;
    const auto times = static_cast<double>(transfers_);
    Breakdown told;
    for (std::size_t part = 0; part < static_cast<std::size_t>(WorkPart::uncounted); ++part) {
      if (parts_[part] > 0) told.parts[work_part_names[part]] = parts_[part] / times;
    }
    for (const Seconds phase : phases_) told.phases.push_back(phase / times);
    return told;
  }

 private:
  /// Peers may store right into the memory that is renewed and checked here, so ranks meet before and after each phase. A halo
  /// is unpacked by the rank itself, so there ranks go on as when they are timed: a message that comes too early is found as
  /// well.
  void check_each_phase() {
    const bool meets = !schedule_->grid;
    std::size_t first = 0;
    for (const Loop& loop : schedule_->loops) {
      if (loop.phases.empty()) continue;
      for (const std::uint64_t seed : {~seed(), seed()}) {
        work_->use(seed);
        work_->begin_repeat(clock_);
        std::size_t number = first;
        for (const Phase& phase : loop.phases) {
          work_->renew(number);
          if (meets) transport_->collective(barrier, nullptr);
          work_->carry_out(number, clock_);
          for (const SmallCollective& one : phase.collectives) {
            reduce(one);
            if (auto what = wrong_reduction(one); what && !wrong_)
              wrong_ = "after " + phase.name + ": " + *what;
          }
          if (&phase == &loop.phases.back()) work_->end_repeat(clock_);
          if (meets) transport_->collective(barrier, nullptr);
          if (auto what = work_->wrong(number++); what && !wrong_) wrong_ = std::move(what);
        }
      }
      first += loop.phases.size();
    }
  }

  void carry_out() {
    std::size_t first = 0;
    for (const Loop& loop : schedule_->loops) {
      for (std::uint64_t repeat = 1; repeat <= loop.repeats; ++repeat) {
        work_->begin_repeat(clock_);
        for (std::size_t i = 0; i < loop.phases.size(); ++i) {
          const Phase& phase = loop.phases[i];
          if (repeat % phase.every != 0) continue;
          if (phase.gap_s > 0) wait_out(phase.gap_s);
          const Seconds before = clock_.counted();
          work_->carry_out(first + i, clock_);
          for (const SmallCollective& one : phase.collectives) reduce(one);
          if (!phase.collectives.empty()) clock_.lap(WorkPart::collectives);
          phases_[first + i] += clock_.counted() - before;
        }
        work_->end_repeat(clock_);
      }
      first += loop.phases.size();
    }
  }

  void reduce(const SmallCollective& what) {
    std::copy_n(own_numbers_[static_cast<std::size_t>(what.type)].begin(), what.bytes(), reduced_.begin());
    transport_->collective(what, reduced_.data());
  }

  /// The numbers of all ranks repeat with a period, and so does their result.
  [[nodiscard]] std::optional<std::string> wrong_reduction(const SmallCollective& what) const {
    SmallCollective period = what;
    period.count = std::min(what.count, reduced_period);
    std::vector<std::byte> expected(period.bytes());
    std::vector<std::byte> further(expected.size());
    write_own_numbers(what.type, period.count, 0, expected.data());
    for (int rank = 1; rank < schedule_->ranks; ++rank) {
      write_own_numbers(what.type, period.count, rank, further.data());
      workload::reduce(period, expected.data(), further.data());
    }
    const std::size_t each = bytes_of(what.type);
    for (std::size_t at = 0; at < what.bytes(); at += each) {
      if (std::memcmp(reduced_.data() + at, expected.data() + at % expected.size(), each) == 0) continue;
      return "number " + std::to_string(at / each) + " of the " + std::to_string(what.count) +
             " that all ranks reduce is wrong on rank " + std::to_string(rank_);
    }
    return std::nullopt;
  }

  void wait_out(Seconds gap) {
    const Seconds end = steady_seconds() + gap;
    while (steady_seconds() < end) {
    }
    clock_.lap(WorkPart::uncounted);
  }

  std::shared_ptr<const Schedule> schedule_;
  int rank_;
  Transport* transport_;
  std::unique_ptr<PhaseWork> work_;
  RankThread thread_;
  PartClock clock_;
  std::array<std::vector<std::byte>, number_types> own_numbers_;  ///< by type: what this rank reduces
  std::vector<std::byte> reduced_;
  bool checked_ = false;
  std::optional<std::string> wrong_;
  std::optional<Span> span_;  ///< of this start's measured repeats: a tail may follow them
  std::exception_ptr failure_;
  std::uint64_t transfers_ = 0;  ///< timed since arm()
  std::vector<Seconds> parts_;   ///< of those
  std::vector<Seconds> phases_;
};

/// Says whether a flow has what every method needs to carry a schedule out.
Support takes_ranks(const std::string& method, const Flow& flow) {
  if (flow.members.size() < 2) return Support::no(method + " needs two ranks or more");
  const bool wanted = flow.schedule->grid || flow.schedule->particles;
  if (wanted == flow.state.empty())
    return Support::no(method +
                       (wanted ? " needs state: where fields or particles are" : " packs from no state"));
  for (std::size_t rank = 0; rank < flow.state.size(); ++rank) {
    if (flow.state[rank].rank != flow.members[rank].rank)
      return Support::no(method + ": the state of rank " + std::to_string(rank) + " is in another process");
  }
  return Support::yes();
}

std::vector<FlowPart> parts_of_ranks(const Flow& flow) {
  const Schedule& schedule = *flow.schedule;
  std::vector<FlowPart> parts;
  for (std::size_t i = 0; i < flow.members.size(); ++i) {
    const auto rank = static_cast<int>(i);
    FlowPart part{flow.members[i].rank, worker_of(flow, i).device, std::nullopt, flow.members[i]};
    part.destination_bytes = std::max<Bytes>(MessageSlots(schedule, rank).bytes, 1);
    if (!flow.state.empty()) {
      part.source = flow.state[i];
      part.source_bytes =
          schedule.grid ? HaloLayout::bytes(*schedule.grid, rank) : particle_state_bytes(schedule, rank);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::unique_ptr<host::HostTransfer> schedule_transfer(RankContext context, RankThread thread) {
  return std::make_unique<ScheduleTransfer>(std::move(context), std::move(thread));
}

Method schedule_method(const MethodSpec& spec, std::function<Support(const Flow&)> supports) {
  Method method;
  method.spec = spec;
  method.supports = [name = std::string(spec.name), supports = std::move(supports)](const Flow& flow) {
    const Support usual = takes_ranks(name, flow);
    return usual ? supports(flow) : usual;
  };
  method.supports_in = [name = std::string(spec.name)](const Flow& /*flow*/, const Case& wanted) {
    if (wanted.flows.size() > 1) return Support::no(name + " runs alone");
    if (wanted.regime.clock != Clock::host) return Support::no(name + " is timed by the host's clock");
    return Support::yes();
  };
  method.footprint = [](const Flow& /*flow*/) { return Bytes{0}; };  // the parts say what they need
  method.parts = parts_of_ranks;
  return method;
}

RankContext rank_context(const Flow& flow, const LocalPart& part, const MakePacker& gpu_packer) {
  RankContext rank{flow.schedule, static_cast<int>(part.index), part.arenas.source, part.arenas.destination};
  const Endpoint& worker = worker_of(flow, part.index);
  const Endpoint& buffers = flow.members[part.index];
  if (worker.device.kind == DeviceKind::numa) {
    rank.packer = std::make_unique<HostPacker>(buffers);
  } else if (gpu_packer) {
    rank.packer = gpu_packer(worker, buffers);
  } else {
    throw Error(Fault::unsupported, "no GPU packs here");
  }
  return rank;
}

}  // namespace linkscope::workload
