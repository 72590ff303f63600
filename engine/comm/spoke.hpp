// Spoke: the end of the hub of every process but rank 0.
#pragma once

#include <string>
#include <vector>

#include "comm/hub.hpp"

namespace linkscope {

class Spoke final : public Hub {
 public:
  /// As attend().
  Spoke(const Address& centre, Membership own);

  [[nodiscard]] std::vector<Connection> connections() const override;
  [[nodiscard]] std::string part_from(int rank) override;
  [[nodiscard]] Seconds clock_offset() const override { return offset_.seconds; }
  [[nodiscard]] Seconds clock_uncertainty() const override { return offset_.uncertainty; }

 protected:
  std::vector<std::string> carry_out(const std::string& word) override;

 private:
  void be_welcomed(const Address& address);
  void set_clock();
  void demand(Outcome outcome);
  [[nodiscard]] Deadline limit() const;

  Channel centre_;
  std::string centre_clock_;  ///< its identity
  ClockOffset offset_;
  bool clock_due_ = false;  ///< at the start of the next exchange
};

}  // namespace linkscope
