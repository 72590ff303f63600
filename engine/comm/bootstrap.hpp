// Bootstrap: a ProcessGroup of several processes, each connected to rank 0.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/steady_clock.hpp"
#include "comm/cause.hpp"
#include "comm/channel.hpp"
#include "comm/handshake.hpp"
#include "comm/process_group.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// Reads a clock, in seconds.
using ReadClock = std::function<Seconds()>;

/// The seconds to add to one clock to read another, and how far that can be off.
struct ClockOffset {
  Seconds seconds = 0;
  Seconds uncertainty = 0;
};

/// A process's own part in a group.
struct BootstrapOptions {
  Handshake handshake;
  /// Time from when the first process comes to an exchange to when the last one must have come.
  Seconds limit = 60;
  ReadClock clock = steady_seconds;
  /// Told why this process could not do its part of an exchange, before it waits for the others there.
  std::function<void(const std::string& reason)> on_failure = [](const std::string&) {};
};

/// A star of TCP connections to rank 0, the root. Every failure (a process gone, late, or out of step) ends the group
/// for all, by the same GroupError where they can still be told; what is called afterwards throws it again. Its causes
/// name who could not do its part of that exchange, as far as is known: in the first place where others are late, who
/// may have waited for it in vain.
class Bootstrap final : public ProcessGroup {
 public:
  struct Connection {
    int rank = 0;
    int descriptor = -1;
  };

  /// Rank 0: waits at `listener` for all others. Throws GroupError: {bad_input} (in every process) where they disagree,
  /// naming rank and difference; {fatal} naming who did not come within the limit. Who has another token is turned
  /// away, and does not count.
  Bootstrap(Listener& listener, BootstrapOptions own);
  /// Every other rank: joins rank 0 at `root`. Throws the same, and Error{bad_input} where rank 0 cannot be reached.
  Bootstrap(const Address& root, BootstrapOptions own);

  [[nodiscard]] int rank() const override { return own_.handshake.rank; }
  [[nodiscard]] int size() const override { return own_.handshake.size; }
  [[nodiscard]] std::string name_of(int rank) const override;
  std::vector<std::string> allgather(const std::string& own, const Step& step = {}) override;
  [[nodiscard]] Seconds clock_offset() const override { return offset_.seconds; }
  [[nodiscard]] Seconds clock_uncertainty() const override { return offset_.uncertainty; }

  /// Why nothing works any more; none as long as it does.
  [[nodiscard]] const std::optional<GroupError>& broken() const { return broken_; }
  /// The processes that this one is connected to, for a watchdog.
  [[nodiscard]] std::vector<Connection> connections() const;
  /// The connection to `rank` has ended, and this process may be held up elsewhere: why that was. Rank 0 tells the
  /// others, if that can be done at once. From any thread.
  [[nodiscard]] std::string part_from(int rank);

 private:
  /// Why a process could not do its part of an exchange, and since when, by rank 0's clock. No words: it could.
  struct ContributionFailure {
    std::string words;
    Seconds moment = 0;
  };

  explicit Bootstrap(BootstrapOptions own);

  [[nodiscard]] bool is_root() const { return rank() == 0; }
  [[nodiscard]] Seconds now() const { return own_.clock(); }
  [[nodiscard]] Channel& to(int rank) { return peers_[is_root() ? static_cast<std::size_t>(rank) - 1 : 0]; }
  [[nodiscard]] Outcome send(int rank, const Frame& frame);
  void set_clocks();

  /// Rank 0's half of an exchange: takes everybody's word and hands out all.
  std::vector<std::string> hand_out(const std::string& word, const Step& step);
  [[nodiscard]] std::vector<std::string> collect(const std::string& word, const Step& step);
  /// Returns the word of `rank` in the exchange under way; fails where the frame belongs to another.
  [[nodiscard]] std::string word_in(const Frame& frame, int rank, const Step& step);
  void tell_all(FrameKind kind, const Causes& causes);
  /// Every other rank's half: gives its word and gets everybody's.
  std::vector<std::string> hear_all(const std::string& word, const Step& step);
  void await_welcome(const Address& address);
  [[nodiscard]] Deadline limit() const;

  /// Fails unless `outcome`, of a message from or to `rank`, is done.
  void demand(int rank, Outcome outcome);
  /// Ends the group for all, of `cause` and of who could not do its part.
  [[noreturn]] void fail(Cause cause);
  /// Says why sending to `rank` or receiving from it ended so: "rank 2 (host node7) is gone".
  [[nodiscard]] Cause why(Outcome outcome, int rank) const;
  /// "rank 2 (host node7) has not come within 30 s".
  [[nodiscard]] Cause late(const std::vector<int>& ranks) const;
  [[nodiscard]] Cause out_of_step(int rank, const std::string& theirs, const std::string& ours) const;
  [[nodiscard]] Cause at_another(int rank, const Frame& frame) const;
  /// `cause` and who could not do its part, the first first: before it, since the others may have waited for that one
  /// in vain; behind it where it is that a process is gone, for whose sake the others may have failed.
  [[nodiscard]] Causes with_failures(Cause cause) const;

  BootstrapOptions own_;
  std::vector<std::string> hosts_;             ///< by rank; empty where unknown
  std::vector<ContributionFailure> failures_;  ///< by rank, in the exchange under way
  std::uint64_t sequence_ = 0;                 ///< of the exchange under way
  std::optional<GroupError> broken_;
  std::mutex writing_;            ///< messages of two threads must not mix
  std::vector<Channel> peers_;    ///< of ranks 1, 2, ...; where this is not rank 0: to rank 0
  ClockOffset offset_;            ///< rank 0: none, and the greatest uncertainty of any process
  bool may_share_clock_ = false;  ///< with rank 0, by what both say of their clocks
  bool clocks_due_ = false;       ///< at the start of the next exchange
  Seconds clocks_set_ = 0;
};

}  // namespace linkscope
