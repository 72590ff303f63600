// JointParts: the modelled transfers of all members of a flow.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/flow_part.hpp"

namespace linkscope::modelled {

class JointParts final : public PreparedParts {
 public:
  void add(std::unique_ptr<Transfer> transfer) { transfers_.push_back(std::move(transfer)); }
  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    std::vector<Transfer*> all;
    for (const auto& transfer : transfers_) all.push_back(transfer.get());
    return all;
  }

 private:
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace linkscope::modelled
