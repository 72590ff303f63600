// Arms and checks the flows of a case.
#include "measure/verifier.hpp"

#include "base/error.hpp"

namespace linkscope {

VerifiedRound::VerifiedRound(const std::vector<Participant>& flows, SeedSource& seeds) : flows_(&flows) {
  for (const Participant& flow : flows) {
    seeds_.push_back(seeds.next());
    flow.transfer->arm(seeds_.back());
  }
}

Bytes VerifiedRound::finish() const {
  Bytes compared = 0;
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    const Transfer& transfer = *(*flows_)[i].transfer;
    if (const auto mismatch = transfer.verify(seeds_[i])) {
      const std::string flow = flows_->size() > 1 ? "flow " + std::to_string(i) + ": " : "";
      throw Error(Fault::mismatch, flow + mismatch->what);
    }
    compared += transfer.verified_bytes();
  }
  return compared;
}

}  // namespace linkscope
