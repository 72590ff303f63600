#include "backend/modelled/gate.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::modelled {

Support ModelledGate::accepts(const Transfer& transfer) const {
  if (dynamic_cast<const ModelledTransfer*>(&transfer) != nullptr) return Support::yes();
  return Support::no("a modelled run starts modelled flows only");
}

void ModelledGate::hold(const std::vector<Lane>& lanes, Clock /*clock*/) {
  std::vector<LaneWork> works;
  held_.clear();
  for (const Lane& lane : lanes) {
    auto* transfer = dynamic_cast<ModelledTransfer*>(lane.transfer);
    if (transfer == nullptr) throw Error(Fault::broken, "a modelled run was given a flow of another backend");
    held_.push_back(transfer);
    works.push_back(transfer->work());
    works.back().repeats = lane.repeats;
    works.back().tail = lane.tail;
  }
  played_ = played_ && works == works_;
  works_ = std::move(works);
}

std::vector<Span> ModelledGate::collect() {
  for (ModelledTransfer* transfer : held_) transfer->move();
  if (!played_) {
    lengths_ = play(works_, context_->capacities());
    played_ = true;
  }
  std::vector<Span> spans;
  Seconds last = now_;
  for (const Seconds length : lengths_) {
    const Seconds end = now_ + length * next_stretch();
    spans.push_back({now_, end, end});
    last = std::max(last, end);
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {  // noise must not end a background lane early
    if (works_[i].role == Role::background) spans[i].end = last;
    if (works_[i].role == Role::background || works_[i].tail > 0) spans[i].idle = last;
  }
  now_ = last;
  return spans;
}

double ModelledGate::next_stretch() {
  if (context_->machine().noise <= 0) return 1;
  const auto uniform = [this] { return static_cast<double>(pattern_word(1, draws_++) >> 11U) * 0x1p-53; };
  return 1 + context_->machine().noise * (uniform() + uniform() - 1);  // triangular
}

}  // namespace linkscope::modelled
