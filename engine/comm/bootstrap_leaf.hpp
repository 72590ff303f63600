// BootstrapLeaf: the side of every process but rank 0.
#pragma once

#include <string>
#include <vector>

#include "comm/bootstrap.hpp"

namespace linkscope {

class BootstrapLeaf final : public Bootstrap {
 public:
  /// As bootstrap_leaf().
  BootstrapLeaf(const Address& root, BootstrapOptions own);

  [[nodiscard]] std::vector<Connection> connections() const override;
  [[nodiscard]] std::string part_from(int rank) override;
  [[nodiscard]] Seconds clock_offset() const override { return offset_.seconds; }
  [[nodiscard]] Seconds clock_uncertainty() const override { return offset_.uncertainty; }

 protected:
  std::vector<std::string> do_allgather(const std::string& word) override;

 private:
  void await_welcome(const Address& address);
  void set_clock();
  void demand(Outcome outcome);
  [[nodiscard]] Deadline limit() const;

  Channel root_;
  std::string root_clock_;  ///< its identity
  ClockOffset offset_;
  bool clock_due_ = false;  ///< at the start of the next exchange
};

}  // namespace linkscope
