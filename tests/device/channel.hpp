// Channel: how a test talks to another process of it.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <stdexcept>
#include <string>

namespace linkscope::testing {

/// One end of a socket that keeps messages apart and gives up on a silent partner.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {
    constexpr time_t timeout_s = 60;
    const timeval limit{timeout_s, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Channel() { close(descriptor_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void say(const std::string& message) const {
    if (send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL) < 0)
      throw std::runtime_error("the other process is gone");
  }
  /// Empty where the partner has left or is silent.
  [[nodiscard]] std::string hear() const {
    std::array<char, 4096> text{};
    const ssize_t size = recv(descriptor_, text.data(), text.size(), 0);
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
  }
  [[nodiscard]] std::string ask(const std::string& message) const {
    say(message);
    return hear();
  }

 private:
  int descriptor_;
};

/// Answers every request of `partner` until that is gone; what `answer` throws is told.
template <class Answer>
void serve(const Channel& partner, const Answer& answer) {
  for (std::string request = partner.hear(); !request.empty(); request = partner.hear()) {
    try {
      partner.say(answer(request));
    } catch (const std::exception& error) {
      partner.say(std::string("failed: ") + error.what());
    }
  }
}

}  // namespace linkscope::testing
