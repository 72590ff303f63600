// POSIX sockets. All descriptors block; every call here that must not is told so.
#include "comm/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>

#include "base/error.hpp"

namespace linkscope {
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 18U;

/// Waits until `descriptor` is ready for `events`; false where the deadline passes first.
bool wait_until_ready(int descriptor, short events, Deadline deadline) {
  pollfd one{descriptor, events, 0};
  for (;;) {
    const int ready = ::poll(&one, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the call that follows says what is wrong
    if (has_passed(deadline)) return false;
  }
}

bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

void set_option(int descriptor, int level, int name, int value) {
  static_cast<void>(::setsockopt(descriptor, level, name, &value, sizeof value));
}

/// Small messages leave at once, and a machine that fell silent is noticed.
void tune_connection(int descriptor) {
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// Connects within the time; 0, or the system's number of what was wrong.
int connect_within(int descriptor, const addrinfo& where, Deadline deadline) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  int problem = ::connect(descriptor, where.ai_addr, where.ai_addrlen) == 0 ? 0 : errno;
  if (problem == EINPROGRESS) {
    if (!wait_until_ready(descriptor, POLLOUT, deadline)) return ETIMEDOUT;
    socklen_t size = sizeof problem;
    ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size);
  }
  ::fcntl(descriptor, F_SETFL, flags);
  return problem;
}

/// Skips what has been sent; false when nothing is left.
bool skip_sent(std::array<iovec, 2>& pieces, std::size_t sent) {
  for (iovec& piece : pieces) {
    const std::size_t step = std::min(sent, piece.iov_len);
    piece.iov_base = static_cast<char*>(piece.iov_base) + step;
    piece.iov_len -= step;
    sent -= step;
  }
  return pieces[0].iov_len + pieces[1].iov_len > 0;
}

/// A socket that listens on any port of that address; -1 with errno where that cannot be.
int listen_at(const addrinfo& where) {
  const int descriptor = ::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  if (::bind(descriptor, where.ai_addr, where.ai_addrlen) == 0 && ::listen(descriptor, SOMAXCONN) == 0) {
    return descriptor;
  }
  const int problem = errno;
  ::close(descriptor);
  errno = problem;
  return -1;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// None where the lookup fails, which `problem` then says.
Addresses look_up(const std::string& host, const std::string& port, int flags, int& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  problem = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  return {problem == 0 ? found : nullptr, &::freeaddrinfo};
}

}  // namespace

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
}

Address Address::parse(const std::string& text, const std::string& what) {
  const auto colon = text.rfind(':');
  const std::string_view all = text;
  std::string_view host = colon == std::string::npos ? std::string_view{} : all.substr(0, colon);
  const std::string_view digits = colon == std::string::npos ? std::string_view{} : all.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  const bool numeric = error == std::errc{} && end == digits.data() + digits.size() && address.port > 0;
  if (host.empty() || !numeric) {
    throw Error(Fault::bad_input, what + ": '" + text + "' is no HOST:PORT with a port from 1 to 65535");
  }
  return address;
}

std::string Address::text() const {
  const bool numbers = host.find(':') != std::string::npos;
  return (numbers ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Socket Socket::connect(const Address& address, Deadline deadline) {
  const auto failed = [&](const std::string& why) {
    return Error(Fault::bad_input, "cannot reach " + address.text() + ": " + why);
  };
  int lookup = 0;
  const Addresses all = look_up(address.host, std::to_string(address.port), 0, lookup);
  if (lookup != 0) throw failed(::gai_strerror(lookup));
  int problem = EADDRNOTAVAIL;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    const int descriptor = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    Socket socket(descriptor);
    problem = connect_within(descriptor, *one, deadline);
    if (problem != 0) continue;
    tune_connection(descriptor);
    return socket;
  }
  throw failed(std::strerror(problem));
}

std::string Socket::local_host() const {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  std::array<char, NI_MAXHOST> text{};
  auto* address = reinterpret_cast<sockaddr*>(&name);
  if (::getsockname(descriptor(), address, &size) != 0)
    throw Error(Fault::broken, std::string("getsockname: ") + std::strerror(errno));
  const int problem = ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  if (problem != 0) throw Error(Fault::broken, std::string("getnameinfo: ") + ::gai_strerror(problem));
  return text.data();
}

Outcome Socket::send(std::string_view head, std::string_view body, Deadline deadline) {
  std::array<iovec, 2> pieces{iovec{const_cast<char*>(head.data()), head.size()},
                              iovec{const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  for (bool more = skip_sent(pieces, 0); more;) {
    const ssize_t sent = ::sendmsg(descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      more = skip_sent(pieces, static_cast<std::size_t>(sent));
    } else if (must_wait()) {
      if (!wait_until_ready(descriptor(), POLLOUT, deadline)) return Outcome::late;
    } else if (errno != EINTR) {
      return Outcome::closed;
    }
  }
  return Outcome::done;
}

Outcome Socket::receive(std::string& to) {
  const std::size_t before = to.size();
  std::array<char, 4096> brief;
  for (;;) {
    const ssize_t count = ::recv(descriptor(), brief.data(), brief.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return must_wait() ? Outcome::late : Outcome::closed;
    if (count == 0) return Outcome::closed;
    to.append(brief.data(), static_cast<std::size_t>(count));
    if (static_cast<std::size_t>(count) < brief.size()) return Outcome::done;
    break;
  }
  while (to.size() - before < most_at_once) {
    const std::size_t held = to.size();
    to.resize(before + most_at_once);
    const ssize_t count = ::recv(descriptor(), to.data() + held, to.size() - held, MSG_DONTWAIT);
    to.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count <= 0) break;  // an end or an error shows again at the next call
  }
  return Outcome::done;
}

Listener::Listener(const std::string& host) {
  const auto failed = [&](const char* why) {
    return Error(Fault::broken, "cannot listen at " + host + ": " + why);
  };
  int lookup = 0;
  const Addresses where = look_up(host, "0", AI_NUMERICHOST, lookup);
  if (lookup != 0) throw failed(::gai_strerror(lookup));
  const int descriptor = listen_at(*where);
  if (descriptor < 0) throw failed(std::strerror(errno));
  socket_ = Socket(descriptor);
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size);
  // Both families keep the port in the same place.
  port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

std::optional<Socket> Listener::accept() {
  const int descriptor = ::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  tune_connection(descriptor);
  return Socket(descriptor);
}

void wait_for_any(const std::vector<int>& descriptors, Deadline deadline) {
  std::vector<pollfd> all;
  all.reserve(descriptors.size());
  for (const int descriptor : descriptors) all.push_back({descriptor, POLLIN, 0});
  static_cast<void>(::poll(all.data(), all.size(), milliseconds_until(deadline)));
}

}  // namespace linkscope
