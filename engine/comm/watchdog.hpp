// Watchdog: makes sure that this process leaves when those it depends on are gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "comm/socket.hpp"

namespace linkscope {

/// Looks after connections on a thread of its own, which sleeps all the while. The other threads may be stuck: in a
/// library, behind a kernel of a GPU, in their own end.
class Watchdog {
 public:
  /// Ends the process, saying why. Called on the watch's thread.
  using Leave = std::function<void(const std::string& why)>;
  /// Called on the watch's thread right before.
  using Reason = std::function<std::string()>;

  explicit Watchdog(Leave leave);
  /// Waits for its thread.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Holds as long as it lives, which is not longer than the watch, the connection and what the reason refers to.
  using Guard = std::shared_ptr<void>;

  /// Once the peer of the socket `descriptor` has closed the connection, this process has `grace` left to go by itself;
  /// without a socket it has that from now on.
  [[nodiscard]] Guard over(std::optional<int> descriptor, Seconds grace, Reason reason);

 private:
  struct Watched {
    int descriptor = -1;  ///< until its connection has ended
    Seconds grace = 0;
    Reason reason;
    std::optional<Deadline> expires;  ///< once it has
  };

  void wake() const;
  void look();

  Leave leave_;
  std::mutex change_;
  std::map<std::uint64_t, Watched> entries_;
  std::uint64_t next_ = 0;
  bool ending_ = false;
  Descriptor waker_;
  std::thread thread_;  ///< the last: it uses all others
};

}  // namespace linkscope
