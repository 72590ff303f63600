// Watch: makes sure that this process leaves when those it depends on are gone.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/moment.hpp"

namespace linkscope {

/// Looks after connections on a thread of its own, which sleeps all the while. The other threads may be stuck: in a library, behind
/// a kernel of a GPU, in their own end.
class Watch {
 public:
  /// Ends the process, saying why. Called on the watch's thread.
  using Leave = std::function<void(const std::string& why)>;
  /// Called on the watch's thread right before.
  using Reason = std::function<std::string()>;

  explicit Watch(Leave leave);
  /// Waits for its thread.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Holds as long as it lives, which is not longer than the watch, the connection and what the reason refers to.
  class Order {
   public:
    Order(Watch& watch, std::uint64_t number) : watch_(&watch), number_(number) {}
    ~Order();
    Order(Order&& other) noexcept;
    Order(const Order&) = delete;
    Order& operator=(const Order&) = delete;
    Order& operator=(Order&&) = delete;

   private:
    Watch* watch_;
    std::uint64_t number_;
  };

  /// Once the peer of the socket `descriptor` has closed the connection, this process has `grace` left to go by itself.
  [[nodiscard]] Order over(int descriptor, Seconds grace, Reason reason);
  /// It has `grace` left from now on.
  [[nodiscard]] Order over_the_end(Seconds grace, Reason reason);

 private:
  struct Entry {
    int descriptor = -1;
    Seconds grace = 0;
    Reason reason;
    std::optional<Deadline> expires;
  };

  /// What the thread sleeps on.
  struct Rest {
    std::vector<pollfd> polled;          ///< the waker first
    std::vector<std::uint64_t> numbers;  ///< entries of the others
    int milliseconds = -1;               ///< until the time of one that has ended is up; -1: of none
  };

  Order add(Entry entry);
  void wake() const;
  void look();
  [[nodiscard]] std::optional<Rest> next_rest();
  void sleep(Rest& rest) const;
  void act(const Rest& rest);

  Leave leave_;
  std::mutex change_;
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t next_ = 0;
  bool ending_ = false;
  int waker_;
  std::thread thread_;  ///< the last: it uses all others
};

}  // namespace linkscope
