// Handshake: what a process says of itself when it joins, what all must agree about, and how rank 0 waits for the others.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "comm/cause.hpp"
#include "comm/channel.hpp"
#include "comm/socket.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

/// The name of this host, as the system says it; "unknown" where it does not.
std::string host_name();

/// Names the steady clock that this process reads: boot, host and time namespace. Processes with the same one can be
/// expected to read the same clock. Empty where the system does not say.
std::string clock_identity();

struct Handshake {
  std::string token;  ///< the run's secret
  int rank = 0;
  int size = 1;  ///< of the group
  std::string host;
  std::string clock;  ///< clock_identity()
  /// What must be the same in every process: name ("version") and value ("0.5.0").
  std::vector<std::pair<std::string, std::string>> fields;

  /// Longest text of one, so that a stranger cannot fill the memory.
  static constexpr Bytes largest = 64 * KiB;

  [[nodiscard]] std::string text() const;  ///< JSON, whose reader takes any depth of nesting from strangers
  /// None where it is no handshake.
  static std::optional<Handshake> parse(const std::string& text);
  /// "rank 2 (host node7)".
  [[nodiscard]] std::string name() const;
};
LINKSCOPE_JSON(Handshake, token, rank, size, host, clock, fields)

/// Says what `other` sees differently from `first`, in one line; none where they agree.
std::optional<std::string> disagreement(const Handshake& first, const Handshake& other);

/// Tells whether two secrets are equal; takes the same time wherever they differ.
bool same_secret(const std::string& one, const std::string& other);

/// "rank 2 (host node7)".
std::string name_of_rank(int rank, const std::string& host);

/// The processes that have come.
struct Arrivals {
  std::vector<Channel> channels;   ///< of ranks 1, 2, ...; closed ones for who is missing
  std::vector<std::string> hosts;  ///< by rank; empty for who is missing
  std::vector<int> missing;
  std::optional<int> lost;  ///< the rank that had come and is gone
  Causes disagreements;     ///< the first that was noticed; empty where the processes agree
};

/// Lets in processes that know the run's secret, in any order. Strangers neither hold it up nor count. `own` is rank
/// 0's handshake, which others are compared with. Returns when all have come, when one that had come is gone, soon
/// after a disagreement, or at the deadline.
[[nodiscard]] Arrivals await_arrivals(Listener& listener, const Handshake& own, Deadline deadline);

}  // namespace linkscope
