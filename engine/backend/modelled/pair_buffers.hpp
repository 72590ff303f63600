// PairBuffers: how much memory the messages of a schedule need between every two ranks.
#pragma once

#include <map>
#include <utility>

#include "model/schedule.hpp"

namespace linkscope::modelled {

/// A buffer at either end for each two ranks that send, as large as what any phase has under way between them at once:
/// what an application allocates once and uses for all its phases.
class PairBuffers {
 public:
  explicit PairBuffers(const Schedule& schedule);

  /// By sender and receiver.
  [[nodiscard]] const std::map<std::pair<int, int>, Bytes>& all() const { return all_; }
  [[nodiscard]] Bytes between(int sender, int receiver) const;
  [[nodiscard]] Bytes sent_by(int rank) const;
  [[nodiscard]] Bytes received_by(int rank) const;

 private:
  std::map<std::pair<int, int>, Bytes> all_;
};

}  // namespace linkscope::modelled
