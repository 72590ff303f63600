// A thread that polls for the ends of connections.
#include "comm/watchdog.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace linkscope {
namespace {

int open_waker() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw Error(Fault::broken, std::string("eventfd: ") + std::strerror(errno));
  return descriptor;
}

}  // namespace

Watchdog::Watchdog(Leave leave)
    : leave_(std::move(leave)), waker_(open_waker()), thread_([this] { look(); }) {}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(change_);
    ending_ = true;
  }
  wake();
  thread_.join();
}

Watchdog::Guard Watchdog::over(std::optional<int> descriptor, Seconds grace, Reason reason) {
  Watched entry{descriptor.value_or(-1), grace, std::move(reason), std::nullopt};
  if (!descriptor) entry.expires = deadline_in(grace);
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(change_);
    number = next_++;
    entries_.emplace(number, std::move(entry));
  }
  wake();
  return {this, [number](Watchdog* watch) {
            const std::scoped_lock lock(watch->change_);
            watch->entries_.erase(number);
          }};
}

void Watchdog::wake() const {
  static_cast<void>(::eventfd_write(waker_.number(), 1));  // a counter that is full has woken the thread
}

void Watchdog::look() {
  std::unique_lock lock(change_);
  while (!ending_) {
    std::vector<pollfd> polled{{waker_.number(), POLLIN, 0}};
    std::vector<std::uint64_t> numbers;  // of the entries polled behind the waker
    std::optional<Deadline> first;       // when the time of one that has ended is up
    for (const auto& [number, entry] : entries_) {
      if (entry.expires) {
        first = first ? std::min(*first, *entry.expires) : *entry.expires;
      } else {
        polled.push_back({entry.descriptor, POLLRDHUP, 0});
        numbers.push_back(number);
      }
    }
    lock.unlock();
    static_cast<void>(::poll(polled.data(), polled.size(), first ? milliseconds_until(*first) : -1));
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(waker_.number(), &count));  // fails where it was not the waker that woke
    lock.lock();                                                 // so that what a reason refers to stays
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto entry = entries_.find(numbers[i]);
      const bool ended = polled[i + 1].revents != 0;
      if (ended && entry != entries_.end()) entry->second.expires = deadline_in(entry->second.grace);
    }
    std::erase_if(entries_, [&](const auto& one) {
      const bool is_due = one.second.expires && has_passed(*one.second.expires);
      if (is_due) leave_(one.second.reason());
      return is_due;
    });
  }
}

}  // namespace linkscope
