// Socket and Listener: TCP connections with addresses and time limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/units.hpp"

namespace linkscope {

/// A time limit: a moment of the steady clock.
using Deadline = std::chrono::steady_clock::time_point;

/// `seconds` from now, which may be long: a year at most.
inline Deadline deadline_in(Seconds seconds) {
  constexpr Seconds year = 3.2e7;
  const std::chrono::duration<double> length(seconds < year ? seconds : year);
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<Deadline::duration>(length);
}

inline bool has_passed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

/// Milliseconds until then, rounded up, as poll takes them.
int milliseconds_until(Deadline deadline);

/// The address at which a process listens.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  /// Reads HOST:PORT; an IPv6 address stands in brackets. `what` names the place the text comes from. Throws
  /// Error{bad_input}.
  static Address parse(const std::string& text, const std::string& what);
  [[nodiscard]] std::string text() const;
};

/// The outcome of an attempt to send or to receive. What peers do is no exception: the caller, which knows their names,
/// makes one of it.
enum class Outcome {
  done,
  closed,   ///< the peer has closed the connection, or it broke
  late,     ///< the time was up; nothing has come so far
  garbled,  ///< what came makes no sense (Channel)
};

/// One connection, closed when it goes. Never raises SIGPIPE. A peer whose machine fell silent counts as gone after
/// about 25 s.
class Socket {
 public:
  Socket() = default;
  /// Takes over a connected descriptor.
  explicit Socket(int descriptor) : descriptor_(descriptor) {}

  /// Throws Error{bad_input}: "cannot reach ADDRESS: the system's reason".
  static Socket connect(const Address& address, Deadline deadline);

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }
  /// The address of this host that the connection leaves from, in numbers. Throws Error{broken} with the system's
  /// reason.
  [[nodiscard]] std::string local_host() const;
  /// Sends all of `head` and `body`, in one go where the system lets it. Where it was late a part may have left.
  [[nodiscard]] Outcome send(std::string_view head, std::string_view body, Deadline deadline);
  /// Appends what has arrived to `to` and never waits; late: nothing has.
  [[nodiscard]] Outcome receive(std::string& to);

 private:
  Descriptor descriptor_;
};

/// Waits for connections on a port that the system picks.
class Listener {
 public:
  /// At one address of this host, in numbers. Throws Error{broken} with the system's reason.
  explicit Listener(const std::string& host);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  /// A connection that has arrived; never waits.
  [[nodiscard]] std::optional<Socket> accept();

 private:
  Socket socket_;
  std::uint16_t port_ = 0;
};

/// Returns when one of them has something to read (its end included), or at the deadline.
void wait_for_any(const std::vector<int>& descriptors, Deadline deadline);

}  // namespace linkscope
