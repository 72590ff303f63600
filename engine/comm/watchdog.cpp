// A thread that polls for the ends of connections.
#include "comm/watchdog.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

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

Watchdog::Guard Watchdog::over(int descriptor, Seconds grace, Reason reason) {
  return add({descriptor, grace, std::move(reason), std::nullopt});
}

Watchdog::Guard Watchdog::over_the_end(Seconds grace, Reason reason) {
  return add({-1, grace, std::move(reason), deadline_in(grace)});
}

Watchdog::Guard Watchdog::add(Watched entry) {
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
  const std::uint64_t one = 1;
  static_cast<void>(::write(waker_.number(), &one, sizeof one));
}

void Watchdog::look() {
  while (auto rest = next_rest()) {
    sleep(*rest);
    act(*rest);
  }
}

/// None when there will be no other.
std::optional<Watchdog::PollSet> Watchdog::next_rest() {
  const std::scoped_lock lock(change_);
  if (ending_) return std::nullopt;
  PollSet rest{{{waker_.number(), POLLIN, 0}}, {}, -1};
  for (const auto& [number, entry] : entries_) {
    if (!entry.expires) {
      rest.polled.push_back({entry.descriptor, POLLRDHUP, 0});
      rest.numbers.push_back(number);
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*entry.expires - Deadline::clock::now());
    const int wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
    rest.milliseconds = rest.milliseconds < 0 ? wait : std::min(rest.milliseconds, wait);
  }
  return rest;
}

void Watchdog::sleep(PollSet& rest) const {
  static_cast<void>(::poll(rest.polled.data(), rest.polled.size(), rest.milliseconds));
  std::uint64_t count = 0;
  static_cast<void>(::read(waker_.number(), &count, sizeof count));
}

/// Under the lock, so that what a reason refers to stays.
void Watchdog::act(const PollSet& rest) {
  const std::scoped_lock lock(change_);
  for (std::size_t i = 0; i < rest.numbers.size(); ++i) {
    const auto entry = entries_.find(rest.numbers[i]);
    const bool ended = rest.polled[i + 1].revents != 0;
    if (ended && entry != entries_.end()) entry->second.expires = deadline_in(entry->second.grace);
  }
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto& [number, due] = *entry;
    const bool is_due = due.expires && has_passed(*due.expires);
    if (is_due) leave_(due.reason());
    entry = is_due ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace linkscope
