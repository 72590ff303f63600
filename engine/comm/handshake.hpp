// Handshake: what a process says of itself when it joins, and what all must agree about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope {

/// The name of this host, as the system says it; "unknown" where it does not.
std::string host_name();

/// Names the steady clock that this process reads: boot, host and time namespace. Processes with the same one can be
/// expected to read the same clock. Empty where the system does not say.
std::string clock_identity();

/// Something that must be the same in every process ("version", "0.5.0"). One line each.
struct HandshakeField {
  std::string name;
  std::string value;
};

struct Handshake {
  std::string token;  ///< the run's secret
  int rank = 0;
  int size = 1;  ///< of the group
  std::string host;
  std::string clock;  ///< clock_identity()
  std::vector<HandshakeField> fields;

  /// Longest text of one, so that a stranger cannot fill the memory.
  static constexpr Bytes largest = 64 * KiB;

  [[nodiscard]] std::string text() const;
  /// None where it is no handshake.
  static std::optional<Handshake> parse(const std::string& text);
  /// "rank 2 (host node7)".
  [[nodiscard]] std::string name() const;
};

/// Says what `other` sees differently from `first`, in one line; none where they agree.
std::optional<std::string> disagreement(const Handshake& first, const Handshake& other);

/// Tells whether two secrets are equal; takes the same time wherever they differ.
bool same_secret(const std::string& one, const std::string& other);

/// "rank 2 (host node7)".
std::string name_of_rank(int rank, const std::string& host);

}  // namespace linkscope
