#include "backend/modelled/pair_buffers.hpp"

#include <algorithm>

namespace linkscope::modelled {

PairBuffers::PairBuffers(const Schedule& schedule) {
  for (const Loop& loop : schedule.loops) {
    for (const Phase& phase : loop.phases) {
      std::map<std::pair<int, int>, Bytes> at_once;
      for (const ScheduledMessage& message : phase.messages)
        at_once[{message.source, message.destination}] += message.bytes;
      for (const auto& [pair, bytes] : at_once) all_[pair] = std::max(all_[pair], bytes);
    }
  }
}

Bytes PairBuffers::between(int sender, int receiver) const {
  const auto found = all_.find({sender, receiver});
  return found == all_.end() ? 0 : found->second;
}

Bytes PairBuffers::sent_by(int rank) const {
  Bytes sum = 0;
  for (const auto& [pair, bytes] : all_) sum += pair.first == rank ? bytes : 0;
  return sum;
}

Bytes PairBuffers::received_by(int rank) const {
  Bytes sum = 0;
  for (const auto& [pair, bytes] : all_) sum += pair.second == rank ? bytes : 0;
  return sum;
}

}  // namespace linkscope::modelled
