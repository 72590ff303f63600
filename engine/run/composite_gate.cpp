// Divides lanes among gates and puts their spans back in order.
#include "run/composite_gate.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.hpp"

namespace linkscope {

Support CompositeGate::accepts(const Transfer& transfer) const {
  for (const auto& gate : gates_) {
    if (gate->accepts(transfer)) return Support::yes();
  }
  return Support::no("no gate of this engine can start it");
}

std::vector<CompositeGate::GateLanes> CompositeGate::divide(const std::vector<Lane>& lanes) const {
  std::vector<GateLanes> shares;
  for (const auto& gate : gates_) shares.push_back({gate.get(), {}, {}});
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto share = std::find_if(shares.begin(), shares.end(), [&](const GateLanes& candidate) {
      return static_cast<bool>(candidate.gate->accepts(*lanes[i].transfer));
    });
    if (share == shares.end()) throw Error(Fault::broken, "no gate of this engine can start a transfer");
    share->lanes.push_back(lanes[i]);
    share->places.push_back(i);
  }
  std::erase_if(shares, [](const GateLanes& share) { return share.lanes.empty(); });
  return shares;
}

void CompositeGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  held_.clear();
  for (GateLanes& share : divide(lanes)) {
    try {
      share.gate->hold(share.lanes, clock);
    } catch (...) {
      // What is held already must run off before the error goes on, or it would hang the next case.
      const std::exception_ptr first = std::current_exception();
      open();
      try {
        static_cast<void>(collect());
      } catch (...) {
        held_.clear();
      }
      std::rethrow_exception(first);
    }
    held_.push_back(std::move(share));
  }
}

void CompositeGate::open() {
  for (const GateLanes& share : held_) share.gate->open();
}

std::vector<Span> CompositeGate::collect() {
  const std::vector<GateLanes> held = std::exchange(held_, {});
  std::size_t lanes = 0;
  for (const GateLanes& share : held) lanes += share.lanes.size();
  std::vector<Span> spans(lanes);
  std::exception_ptr first;
  for (const GateLanes& share : held) {
    try {
      const std::vector<Span> part = share.gate->collect();
      // After a failed hold the places of missing lanes are beyond the end; the spans are then thrown away.
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (share.places[i] < lanes) spans[share.places[i]] = share.lanes[i].transfer->counted(part[i]);
      }
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
  return spans;
}

Seconds CompositeGate::resolution(Clock clock) const {
  Seconds worst = 0;
  for (const auto& gate : gates_) worst = std::max(worst, gate->resolution(clock));
  return worst;
}

std::vector<Seconds> CompositeGate::clock_errors() const {
  std::vector<Seconds> all;
  for (const auto& gate : gates_) {
    const std::vector<Seconds> some = gate->clock_errors();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Seconds CompositeGate::stolen() const {
  Seconds sum = 0;
  for (const auto& gate : gates_) sum += gate->stolen();
  return sum;
}

}  // namespace linkscope
