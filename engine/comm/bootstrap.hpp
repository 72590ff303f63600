// Bootstrap: a ProcessGroup of several processes, each connected to rank 0.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/steady_clock.hpp"
#include "comm/cause.hpp"
#include "comm/channel.hpp"
#include "comm/handshake.hpp"
#include "comm/process_group.hpp"
#include "comm/remote_clock.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// What this process brings into a group.
struct BootstrapOptions {
  Handshake handshake;
  /// Time from when the first process comes to an exchange to when the last one must have come.
  Seconds limit = 60;
  ReadClock clock = steady_seconds;
  /// Told why this process could not do its part of an exchange, before it waits for the others there.
  std::function<void(const std::string& reason)> on_failure = [](const std::string&) {};
};

/// A star of TCP connections to rank 0, the root. Every failure (a process gone, late, or out of step) ends it for all,
/// by the same GroupError where they can still be told; what is called afterwards throws it again. Its causes name who
/// could not do its part of that exchange, as far as is known: in the first place where others are late, who may have
/// waited for it in vain.
class Bootstrap : public ProcessGroup {
 public:
  struct Connection {
    int rank = 0;
    int descriptor = -1;
  };

  [[nodiscard]] int rank() const override { return own_.handshake.rank; }
  [[nodiscard]] int size() const override { return own_.handshake.size; }
  [[nodiscard]] std::string name_of(int rank) const override;
  std::vector<std::string> allgather(const std::string& own) final { return exchange(own, {}); }
  std::vector<std::string> allgather_failure(const std::string& own, const std::string& reason) final {
    return exchange(own, reason);
  }

  /// Why nothing works any more; none as long as it does.
  [[nodiscard]] const std::optional<GroupError>& broken() const { return broken_; }
  /// The processes that this one is connected to, for a watchdog.
  [[nodiscard]] virtual std::vector<Connection> connections() const = 0;
  /// The connection to `rank` has ended, and this process may be held up elsewhere: why that was. Tells the others, if
  /// that can be done at once. From any thread.
  [[nodiscard]] virtual std::string part_from(int rank) = 0;

 protected:
  /// Why a process could not do its part of an exchange, and since when, by rank 0's clock. No words: it could.
  struct ContributionFailure {
    std::string words;
    Seconds moment = 0;
  };

  explicit Bootstrap(BootstrapOptions own);

  virtual std::vector<std::string> do_allgather(const std::string& own) = 0;

  [[nodiscard]] const BootstrapOptions& own() const { return own_; }
  [[nodiscard]] Seconds now() const { return own_.clock(); }
  /// Of the exchange under way.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  void set_hosts(std::vector<std::string> hosts) { hosts_ = std::move(hosts); }
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }
  /// What is to be said of `rank` when sending to it or receiving from it ended so: "rank 2 (host node7) is gone".
  [[nodiscard]] Cause why(Outcome outcome, int rank) const;
  /// "rank 2 (host node7) has not come within 30 s".
  [[nodiscard]] Cause late(const std::vector<int>& ranks) const;
  [[nodiscard]] Cause out_of_step(int rank, const Frame& frame) const;
  /// Of `rank` in the exchange under way; without words where it has not said anything, too.
  [[nodiscard]] ContributionFailure& failure_of(int rank) {
    return failures_[static_cast<std::size_t>(rank)];
  }
  /// `cause` and who could not do its part, the first first: before it, since the others may have waited for that one
  /// in vain; behind it where it is that a process is gone, for whose sake the others may have failed.
  [[nodiscard]] Causes with_failures(Cause cause) const;

 private:
  std::vector<std::string> exchange(const std::string& own, const std::string& failure);

  BootstrapOptions own_;
  std::vector<std::string> hosts_;             ///< by rank; empty where unknown
  std::vector<ContributionFailure> failures_;  ///< by rank
  std::uint64_t sequence_ = 0;
  std::optional<GroupError> broken_;
};

/// Rank 0's: waits at `listener` for all others. Throws Error{bad_input} (in every process) where they disagree, naming
/// rank and difference; {fatal} naming who did not come within the limit: GroupErrors. Who has another token is turned
/// away, and does not count.
std::unique_ptr<Bootstrap> bootstrap_root(Listener& listener, BootstrapOptions own);

/// Every other rank's: joins rank 0 at `root`. Throws the same, and Error{bad_input} where it cannot be reached.
std::unique_ptr<Bootstrap> bootstrap_leaf(const Address& root, BootstrapOptions own);

}  // namespace linkscope
