// A transfer's commands to the Python child.
#include "backend/python/methods.hpp"

#include <utility>

#include "base/error.hpp"

namespace linkscope::python {
namespace {

PythonTransfer& transfer_of(const Lane& lane) { return dynamic_cast<PythonTransfer&>(*lane.transfer); }

}  // namespace

PythonTransfer::~PythonTransfer() {
  try {
    context_->child().tell(
        command("release"));  // no answer: one that waits for lost partners must not hold this process up
  } catch (const std::exception&) {
    return;  // it is gone, and what it held with it
  }
}

void PythonTransfer::learn(const Message& facts) {
  facts.at("operations").get_to(own_facts().operations);
  facts.at("max_repeats").get_to(own_facts().max_repeats);
  facts.at("calls_in_a_row").get_to(own_facts().calls_in_a_row);
  facts.at("min_sample_s").get_to(own_facts().min_sample_s);
  facts.at("accumulates").get_to(own_facts().accumulates);
  notes_ = facts.at("notes").get<std::vector<std::string>>();
}

void PythonTransfer::arm(std::uint64_t seed) {
  Message armed = command("arm");
  armed["seed"] = seed;
  static_cast<void>(context_->child().ask(armed));
}

std::optional<Mismatch> PythonTransfer::verify(std::uint64_t seed) const {
  Message asked = command("verify");
  asked["seed"] = seed;
  const Message found = context_->child().ask(asked);
  verified_bytes_ = found.at("bytes").get<Bytes>();
  if (found.at("wrong").is_null()) return std::nullopt;
  return Mismatch{found.at("wrong").get<std::string>()};
}

void PythonTransfer::begin(std::uint64_t repeats) {
  Message run = command("run");
  run["repeats"] = repeats;
  context_->child().tell(run);
}

Span PythonTransfer::end() {
  const Message ran = context_->child().hear();
  notes_ = ran.at("notes").get<std::vector<std::string>>();
  const auto start = ran.at("start_s").get<Seconds>();
  const Seconds end = start + ran.at("seconds").get<Seconds>();
  return {start, end, end};
}

Support PythonGate::accepts(const Transfer& transfer) const {
  return dynamic_cast<const PythonTransfer*>(&transfer) != nullptr
             ? Support::yes()
             : Support::no("it is not a transfer of the Python child's");
}

void PythonGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  for (const Lane& lane : lanes) {
    if (lane.tail > 0 || transfer_of(lane).clock() != clock)
      throw Error(Fault::broken, "the Python child times by its case's clock and carries no load besides");
  }
  held_ = lanes;
}

void PythonGate::open() {
  for (const Lane& lane : held_) transfer_of(lane).begin(lane.repeats);
}

std::vector<Span> PythonGate::collect() {
  std::vector<Span> spans;
  for (const Lane& lane : std::exchange(held_, {})) spans.push_back(transfer_of(lane).end());
  return spans;
}

}  // namespace linkscope::python
