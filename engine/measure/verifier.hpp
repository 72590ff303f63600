// Verifier: passes of arming every flow's memory and checking what arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "measure/measured_flow.hpp"

namespace linkscope {

/// Hands out seeds that never repeat in a process, so that no pass and no flow can pass on another's data.
class SeedSource {
 public:
  explicit SeedSource(std::uint64_t first) : next_(first) {}
  std::uint64_t next() { return next_++; }

 private:
  std::uint64_t next_;
};

/// What has run since the pass began: repeated transfers, which are checked but for those that accumulate, or one,
/// which is checked of those that accumulate or are collective (TransferFacts).
enum class Checked { repeated, single };

/// One pass: constructing it arms every flow with a seed of its own; finish() checks them.
class VerifiedPass {
 public:
  VerifiedPass(const std::vector<MeasuredFlow>& flows, SeedSource& seeds);

  /// Bytes compared. Throws Error{mismatch} naming the flow and what was wrong first.
  [[nodiscard]] Bytes finish(Checked which) const;

 private:
  const std::vector<MeasuredFlow>* flows_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace linkscope
