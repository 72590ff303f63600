// Arms and checks the flows of a case.
#include "measure/verifier.hpp"

#include "base/error.hpp"

namespace linkscope {

VerifiedPass::VerifiedPass(const std::vector<MeasuredFlow>& flows, SeedSource& seeds) : flows_(&flows) {
  // All are drawn before anything can fail: the processes of a run must stay in step.
  for (std::size_t i = 0; i < flows.size(); ++i) seeds_.push_back(seeds.next());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i].each_part([&](Transfer& part) { part.arm(seeds_[i]); });
  }
}

Bytes VerifiedPass::finish(Checked which) const {
  Bytes compared = 0;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    (*flows_)[i].each_part([&](const Transfer& part) {
      const TransferFacts& facts = part.facts();
      const bool checked =
          which == Checked::repeated ? !facts.accumulates : facts.accumulates || facts.collective;
      if (!checked) return;
      if (const auto mismatch = part.verify(seeds_[i])) {
        throw Error(Fault::mismatch, place_of(*flows_, i) + mismatch->what);
      }
      compared += part.verified_bytes();
    });
  }
  return compared;
}

}  // namespace linkscope
