// Divides lanes by process, agrees on the opening and exchanges spans.
#include "run/process_group_gate.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "comm/cause.hpp"
#include "run/remote_transfer.hpp"

namespace linkscope {
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

/// A span on the common clock, and its place among all.
Json json_of(const Span& span, std::size_t place, Seconds offset) {
  const Interference& by = span.interference;
  return {place,        span.start + offset, span.end + offset, span.idle + offset,
          span.between, by.waited,           by.apart,          by.switches};
}

Span span_from(const Json& json) {
  return {json[1].get<Seconds>(),
          json[2].get<Seconds>(),
          json[3].get<Seconds>(),
          json[4].get<Seconds>(),
          {json[5].get<Seconds>(), json[6].get<Seconds>(), json[7].get<std::uint64_t>()}};
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
  ProcessGroup& group = consensus_->group();
  const auto hold_own = [&]() -> Json {
    own_->hold(own, clock);
    return steady_seconds() + group.clock_offset();
  };
  const std::vector<Json> ready = or_lost(group, [&] { return consensus_->allgather_json(hold_own); });
  Seconds last = 0;
  for (const Json& moment : ready) last = std::max(last, moment.get<Seconds>());
  opening_ = last + notice - group.clock_offset();
}

void ProcessGroupGate::open() {
  if (consensus_->group().size() > 1) {
    while (steady_seconds() < opening_) {
    }
  }
  own_->open();
}

std::vector<Span> ProcessGroupGate::collect() {
  ProcessGroup& group = consensus_->group();
  const auto collect_own = [&]() -> Json {
    const std::vector<Span> spans = own_->collect();
    Json told = Json::array();
    for (std::size_t i = 0; i < spans.size(); ++i) {
      told.push_back(json_of(spans[i], places_[i], group.clock_offset()));
    }
    return {{"now", steady_seconds()}, {"spans", std::move(told)}, {"errors", own_errors()}};
  };
  const std::vector<Json> all = or_lost(group, [&] { return consensus_->allgather_json(collect_own); });
  agreed_now_ = all.front()["now"].get<Seconds>();
  std::vector<Span> spans(lanes_);
  clock_errors_.clear();
  for (const Json& told : all) {
    for (const Json& error : told["errors"]) clock_errors_.push_back(error.get<Seconds>());
    for (const Json& span : told["spans"]) spans.at(span[0].get<std::size_t>()) = span_from(span);
  }
  return spans;
}

/// This process's clocks against rank 0's: what its devices' are off its own, and its own with them.
std::vector<Seconds> ProcessGroupGate::own_errors() const {
  const Seconds between_hosts = consensus_->group().clock_uncertainty();
  std::vector<Seconds> errors = own_->clock_errors();
  for (Seconds& error : errors) error += between_hosts;
  errors.push_back(between_hosts);
  return errors;
}

}  // namespace linkscope
