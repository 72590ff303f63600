// Starts of a Python child's transfers.
#include "backend/python/gate.hpp"

#include <utility>

#include "backend/python/transfer.hpp"

namespace linkscope::python {
namespace {

PythonTransfer& transfer_of(const Lane& lane) { return dynamic_cast<PythonTransfer&>(*lane.transfer); }

}  // namespace

Support PythonGate::accepts(const Transfer& transfer) const {
  return dynamic_cast<const PythonTransfer*>(&transfer) != nullptr
             ? Support::yes()
             : Support::no("it is not a transfer of the Python child's");
}

void PythonGate::hold(const std::vector<Lane>& lanes, Clock /*clock*/) { held_ = lanes; }

void PythonGate::open() {
  for (const Lane& lane : held_) transfer_of(lane).begin(lane.repeats);
}

std::vector<Span> PythonGate::collect() {
  std::vector<Span> spans;
  for (const Lane& lane : std::exchange(held_, {})) spans.push_back(transfer_of(lane).end());
  return spans;
}

}  // namespace linkscope::python
