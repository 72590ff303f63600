// BootstrapRoot: rank 0's side.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "comm/bootstrap.hpp"

namespace linkscope {

class BootstrapRoot final : public Bootstrap {
 public:
  /// As bootstrap_root().
  BootstrapRoot(Listener& listener, BootstrapOptions own);

  [[nodiscard]] std::vector<Connection> connections() const override;
  [[nodiscard]] std::string part_from(int rank) override;
  [[nodiscard]] Seconds clock_offset() const override { return 0; }
  /// The greatest of any process.
  [[nodiscard]] Seconds clock_uncertainty() const override { return uncertainty_; }

 protected:
  std::vector<std::string> do_allgather(const std::string& word) override;

 private:
  [[nodiscard]] std::vector<std::string> collect(const std::string& word);
  /// What a frame of `rank` says in the exchange under way; fails where it belongs to no such.
  [[nodiscard]] std::string word_in(Frame frame, int rank);
  void set_clocks();
  [[nodiscard]] Channel& leaf(int rank) { return leaves_[static_cast<std::size_t>(rank) - 1]; }
  [[nodiscard]] Outcome send(int rank, const Frame& frame);
  void tell_all(FrameKind kind, const Causes& causes);
  /// Fails unless `outcome`, of a message from or to `rank`, is done.
  void demand(int rank, Outcome outcome);
  /// Ends the group for all, of `cause` and of who could not do its part.
  [[noreturn]] void fail(Cause cause);

  std::mutex writing_;           ///< words of two threads must not mix
  std::vector<Channel> leaves_;  ///< of ranks 1, 2, ...
  std::vector<int> descriptors_;
  Seconds uncertainty_ = 0;
  Seconds clocks_set_ = 0;
  bool clocks_due_ = false;  ///< at the start of the next exchange
};

}  // namespace linkscope
