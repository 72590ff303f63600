// Channel: whole messages over a connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// What a message is, between rank 0 (the centre) and another process (a spoke).
enum class FrameKind : std::uint32_t {
  handshake = 1,      ///< spoke: who it is
  welcome,            ///< centre: all have come and agree
  refusal,            ///< centre: the reason, for the user to mend
  word,               ///< spoke: its part of an exchange
  word_of_failure,    ///< the same, and why it could not do what the exchange is about
  words,              ///< centre: everybody's
  words_then_clocks,  ///< the same; the next exchange begins with setting the clocks
  clock_question,     ///< spoke: what time is it?
  clock_answer,       ///< centre: its clock in `moment`
  clock_set,          ///< spoke: how far it can be off, in `moment`
  farewell,           ///< either: why it cannot go on
};

struct Frame {
  FrameKind kind = FrameKind::word;
  std::uint64_t sequence = 0;  ///< of the exchange
  Seconds moment = 0;          ///< of the centre's clock
  std::string payload;
};

/// Frames are a header in the machine's own layout and a payload of any bytes. A peer of another byte order, or one that is
/// no linkscope at all, is `garbled`.
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
  /// The reason that the peer gave before it went: its farewell counts as the end of the connection. Empty where it gave none.
  [[nodiscard]] const std::string& farewell() const { return farewell_; }
  /// The same where nobody has read it yet; it stays there. From any thread, as long as the channel lives.
  [[nodiscard]] std::string unread_farewell() const;

 private:
  [[nodiscard]] Outcome parse(Frame& frame);

  Socket socket_;
  Bytes most_;
  std::string pending_;
  std::string farewell_;
};

/// How long a wait polls before it sleeps.
class PollWindow {
 public:
  /// Lets other threads have the CPU; true while it is worth looking again at once.
  [[nodiscard]] bool look_again();

 private:
  static constexpr Seconds polling = 50e-6;
  Deadline until_ = deadline_in(polling);
};

}  // namespace linkscope
