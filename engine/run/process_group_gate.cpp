// Divides lanes by process, agrees on the opening and exchanges spans.
#include "run/process_group_gate.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "comm/cause.hpp"

namespace linkscope {

LINKSCOPE_JSON(Interference, waited, apart, switches)
LINKSCOPE_JSON(Span, start, end, idle, between, interference)

namespace {

/// From the last process's answer to the opening: the answers must have reached all by then.
constexpr Seconds notice = 200e-6;

/// What one process has set going waits for what another has not: nobody can go on from there.
template <class Step>
std::vector<Json> or_lost(ProcessGroup& group, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    if (group.size() == 1) throw;
    throw GroupError(Fault::fatal, error);
  }
}

bool elsewhere(const Transfer& transfer) { return dynamic_cast<const RemoteTransfer*>(&transfer) != nullptr; }

}  // namespace

Support ProcessGroupGate::accepts(const Transfer& transfer) const {
  return elsewhere(transfer) ? Support::yes() : own_->accepts(transfer);
}

void ProcessGroupGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  lanes_ = lanes.size();
  places_.clear();
  std::vector<Lane> own;
  for (std::size_t place = 0; place < lanes.size(); ++place) {
    if (elsewhere(*lanes[place].transfer)) continue;
    places_.push_back(place);
    own.push_back(lanes[place]);
  }
  const auto hold_own = [&]() -> Json {
    own_->hold(own, clock);
    return steady_seconds() + group_->clock_offset();
  };
  const std::vector<Json> ready = or_lost(*group_, [&] { return group_->allgather_json(hold_own); });
  Seconds last = 0;
  for (const Json& moment : ready) last = std::max(last, moment.get<Seconds>());
  opening_ = last + notice - group_->clock_offset();
}

void ProcessGroupGate::open() {
  if (group_->size() > 1) {
    while (steady_seconds() < opening_) {
    }
  }
  own_->open();
}

std::vector<Span> ProcessGroupGate::collect() {
  const auto collect_own = [&]() -> Json {
    std::vector<Span> spans = own_->collect();
    for (Span& span : spans) {
      for (Seconds* moment : {&span.start, &span.end, &span.idle}) *moment += group_->clock_offset();
    }
    return {{"now", steady_seconds()}, {"places", places_}, {"spans", spans}, {"errors", own_errors()}};
  };
  const std::vector<Json> all = or_lost(*group_, [&] { return group_->allgather_json(collect_own); });
  agreed_now_ = all.front()["now"].get<Seconds>();
  std::vector<Span> spans(lanes_);
  clock_errors_.clear();
  for (const Json& told : all) {
    for (const Json& error : told["errors"]) clock_errors_.push_back(error.get<Seconds>());
    for (std::size_t i = 0; i < told["spans"].size(); ++i)
      spans.at(told["places"].at(i).get<std::size_t>()) = told["spans"][i].get<Span>();
  }
  return spans;
}

/// This process's clocks against rank 0's: what its devices' are off its own, and its own with them.
std::vector<Seconds> ProcessGroupGate::own_errors() const {
  const Seconds between_hosts = group_->clock_uncertainty();
  std::vector<Seconds> errors = own_->clock_errors();
  for (Seconds& error : errors) error += between_hosts;
  errors.push_back(between_hosts);
  return errors;
}

}  // namespace linkscope
