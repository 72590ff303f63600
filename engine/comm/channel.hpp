// Channel: whole messages over a connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// The kinds of message between rank 0 (the root) and another process (a leaf).
enum class FrameKind : std::uint32_t {
  handshake = 1,      ///< leaf: who it is
  welcome,            ///< root: all have come and agree
  refusal,            ///< root: the reason, for the user to mend
  word,               ///< leaf: its part of an exchange, which step that is, why it could not do its part
  words,              ///< root: everybody's
  words_then_clocks,  ///< the same; the next exchange begins with setting the clocks
  clock_question,     ///< leaf: what time is it?
  clock_answer,       ///< root: its clock in `moment`
  clock_set,          ///< leaf: how far it can be off, in `moment`
  abort,              ///< either: why it cannot go on
};

struct Frame {
  FrameKind kind = FrameKind::word;
  std::uint64_t sequence = 0;  ///< of the exchange
  Seconds moment = 0;          ///< of the root's clock
  std::string payload;
};

/// Frames are a header in the machine's own layout and a payload of any bytes. A peer of another byte order, or one
/// that is no linkscope at all, is `garbled`.
class Channel {
 public:
  /// Frames with more payload than `most` are garbled too.
  explicit Channel(Socket socket, Bytes most = largest_payload) : socket_(std::move(socket)), most_(most) {}
  /// A closed one.
  Channel() : Channel(Socket()) {}

  static constexpr Bytes largest_payload = Bytes{1} << 32U;

  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  /// From now on.
  void allow(Bytes most) { most_ = most; }

  [[nodiscard]] Outcome send(const Frame& frame, Deadline deadline);
  /// The next frame, if all of it has arrived; never waits.
  [[nodiscard]] Outcome take(Frame& frame);
  /// Waits for the next frame: polling for a moment, then asleep.
  [[nodiscard]] Outcome receive(Frame& frame, Deadline deadline);
  /// The payload of the abort that the peer sent before it went, which counts as the end of the connection. Empty
  /// where it gave none.
  [[nodiscard]] const std::string& abort_reason() const { return abort_reason_; }
  /// The payload of an abort that nobody has read yet; it stays there. From any thread, as long as the channel lives.
  [[nodiscard]] std::string unread_abort_reason() const;

 private:
  [[nodiscard]] Outcome parse(Frame& frame);

  Socket socket_;
  Bytes most_;
  std::string pending_;
  std::string abort_reason_;
};

/// The time that a wait polls before it sleeps.
class PollWindow {
 public:
  /// Lets other threads have the CPU; true while it is worth looking again at once.
  [[nodiscard]] bool look_again();

 private:
  static constexpr Seconds polling = 50e-6;
  Deadline until_ = deadline_in(polling);
};

}  // namespace linkscope
