// Connects to the supervisor and reads its lines.
#include "comm/control.hpp"

#include "base/error.hpp"

namespace linkscope {
namespace {

constexpr Seconds to_connect = 20;
constexpr Seconds long_enough = 3600;

Socket connect_to(const Address& supervisor) {
  try {
    return Socket::connect(supervisor, deadline_in(to_connect));
  } catch (const Error& error) {
    throw Error(error.fault(), std::string("the supervisor (LINKSCOPE_CONTROL): ") + error.what());
  }
}

}  // namespace

Control::Control(const Address& supervisor) : supervisor_(supervisor), socket_(connect_to(supervisor)) {}

std::string Control::hear() {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = pending_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    searched = pending_.size();
    const Outcome outcome = socket_.receive(pending_);
    if (outcome == Outcome::closed) {
      throw Error(Fault::bad_input, "the supervisor at " + supervisor_.text() +
                                        " closed the connection: is LINKSCOPE_TOKEN that of its run?");
    }
    if (outcome == Outcome::late) wait_for_any({descriptor()}, deadline_in(long_enough));
  }
}

}  // namespace linkscope
