// Frames: headers, partial arrivals.
#include "comm/channel.hpp"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace linkscope {
namespace {

constexpr std::uint32_t mark = 0x6C736832;  // "lsh2": changes with the layout and with the payloads

struct Header {
  std::uint32_t mark = 0;
  FrameKind kind = FrameKind::word;
  std::uint64_t sequence = 0;
  Seconds moment = 0;
  std::uint64_t length = 0;
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == 32);

Header header_in(const char* bytes) {
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

}  // namespace

bool PollWindow::look_again() {
  ::sched_yield();
  return !has_passed(until_);
}

Outcome Channel::send(const Frame& frame, Deadline deadline) {
  const Header header{mark, frame.kind, frame.sequence, frame.moment, frame.payload.size()};
  return socket_.send({reinterpret_cast<const char*>(&header), sizeof header}, frame.payload, deadline);
}

Outcome Channel::parse(Frame& frame) {
  const std::size_t marked = std::min(pending_.size(), sizeof mark);
  if (std::memcmp(pending_.data(), &mark, marked) != 0) return Outcome::garbled;
  if (pending_.size() < sizeof(Header)) return Outcome::late;
  const Header header = header_in(pending_.data());
  if (header.length > most_) return Outcome::garbled;
  if (pending_.size() < sizeof header + header.length) return Outcome::late;
  frame = {header.kind, header.sequence, header.moment, pending_.substr(sizeof header, header.length)};
  pending_.erase(0, sizeof header + header.length);
  if (frame.kind != FrameKind::abort) return Outcome::done;
  abort_reason_ = frame.payload;
  return Outcome::closed;
}

Outcome Channel::take(Frame& frame) {
  for (;;) {
    const Outcome parsed = parse(frame);
    if (parsed != Outcome::late) return parsed;
    const Outcome received = socket_.receive(pending_);
    if (received != Outcome::done) return received;
  }
}

Outcome Channel::receive(Frame& frame, Deadline deadline) {
  PollWindow window;
  for (;;) {
    const Outcome taken = take(frame);
    if (taken != Outcome::late) return taken;
    if (window.look_again()) continue;
    if (has_passed(deadline)) return Outcome::late;
    wait_for_any({descriptor()}, deadline);
  }
}

std::string Channel::unread_abort_reason() const {
  std::array<char, 4096> seen{};
  const ssize_t count = ::recv(descriptor(), seen.data(), seen.size(), MSG_PEEK | MSG_DONTWAIT);
  if (std::cmp_less(count, sizeof(Header))) return {};
  const Header header = header_in(seen.data());
  const std::size_t there = static_cast<std::size_t>(count) - sizeof header;
  if (header.mark != mark || header.kind != FrameKind::abort || header.length > there) return {};
  return {seen.data() + sizeof header, header.length};
}

}  // namespace linkscope
