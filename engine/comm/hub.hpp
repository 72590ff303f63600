// Hub: a world of several processes, each connected to rank 0.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/steady_clock.hpp"
#include "comm/channel.hpp"
#include "comm/greeting.hpp"
#include "comm/remote_clock.hpp"
#include "comm/socket.hpp"
#include "comm/world.hpp"

namespace linkscope {

/// What this process brings into a world.
struct Membership {
  Greeting greeting;
  /// Time from when the first process comes to an exchange to when the last one must have come.
  Seconds limit = 60;
  ReadClock clock = steady_seconds;
};

/// A star of TCP connections, with rank 0 in its centre. Every failure (a process gone, late, or out of step) ends it for all,
/// with the same words where they can still be told; what is called afterwards throws them again. The words begin with who
/// could not do its part of that exchange, as far as is known: others may have waited for it in vain.
class Hub : public World {
 public:
  struct Connection {
    int rank = 0;
    int descriptor = -1;
  };

  [[nodiscard]] int rank() const override { return own_.greeting.rank; }
  [[nodiscard]] int size() const override { return own_.greeting.size; }
  [[nodiscard]] std::string name_of(int rank) const override;
  std::vector<std::string> exchange(const std::string& own) final { return take_part(own, {}); }
  std::vector<std::string> exchange_failure(const std::string& own, const std::string& reason) final {
    return take_part(own, reason);
  }

  /// Why nothing works any more; empty as long as it does.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  /// The processes that this one is connected to, for whoever watches over them.
  [[nodiscard]] virtual std::vector<Connection> connections() const = 0;
  /// The connection to `rank` has ended, and this process may be held up elsewhere: why that was. Tells the others, if that can be
  /// done at once. From any thread.
  [[nodiscard]] virtual std::string part_from(int rank) = 0;

 protected:
  explicit Hub(Membership own);

  virtual std::vector<std::string> carry_out(const std::string& own) = 0;

  [[nodiscard]] const Membership& own() const { return own_; }
  [[nodiscard]] Seconds now() const { return own_.clock(); }
  /// Of the exchange under way.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  void set_hosts(std::vector<std::string> hosts) { hosts_ = std::move(hosts); }
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }
  /// What is to be said of `rank` when sending to it or receiving from it ended so: "rank 2 (host node7) is gone".
  [[nodiscard]] std::string why(Outcome outcome, int rank) const;
  /// "has not come within 30 s: rank 2 (host node7)".
  [[nodiscard]] std::string late(const std::vector<int>& ranks) const;
  [[nodiscard]] std::string out_of_step(int rank, const Frame& frame) const;
  /// Why `rank` could not do its part of the exchange under way; empty where it could, or has not said.
  [[nodiscard]] std::string& failure_of(int rank) { return failures_[static_cast<std::size_t>(rank)]; }
  /// "rank 1 (host node6) failed: no memory; " before `reason`, for each that did.
  [[nodiscard]] std::string after_failures(const std::string& reason) const;

 private:
  std::vector<std::string> take_part(const std::string& own, const std::string& failure);

  Membership own_;
  std::vector<std::string> hosts_;     ///< by rank; empty where unknown
  std::vector<std::string> failures_;  ///< by rank
  std::uint64_t sequence_ = 0;
  std::string broken_;
};

/// Rank 0's: waits at `listener` for all others. Throws Error{bad_input} (in every process) where they disagree, naming rank and
/// difference; Error{fatal} naming who did not come within the limit. Who has another token is turned away, and does not count.
std::unique_ptr<Hub> gather(Listener& listener, Membership own);

/// Every other rank's: joins rank 0 at `centre`. Throws the same, and Error{bad_input} where it cannot be reached.
std::unique_ptr<Hub> attend(const Address& centre, Membership own);

}  // namespace linkscope
