// Starting, asking and ending a Python child, the first command to it, and the last.
#include "backend/python/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::python {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t most_words = 4096;
constexpr Seconds end_timeout = 10;
constexpr long pause_ns = 1'000'000;
constexpr Seconds timeout_alone = 900;  // the supervisor's is shorter, and knows the case
constexpr Seconds timeout_beside_limit = 30;

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const std::size_t before = text.find_last_of('\n', end);
  return text.substr(before == std::string::npos ? 0 : before + 1,
                     end - (before == std::string::npos ? 0 : before + 1) + 1);
}

/// The text that the child's Python runs. `-m linkscope.torch_child` would run modules of the current folder, too,
/// which both `-m` and `-c` put first among the places of modules; `-P` is Python 3.11's.
constexpr std::string_view program_text =
    "import sys; sys.path[:] = filter(None, sys.path); import runpy; "
    "runpy.run_module('linkscope.torch_child', run_name='__main__', alter_sys=True)";

/// As linkscope.torch_child names them (faults.py).
Fault fault_of(const std::string& word) {
  if (word == "bad-input") return Fault::bad_input;
  if (word == "unsupported") return Fault::unsupported;
  if (word == "no-memory") return Fault::no_memory;
  if (word == "mismatch") return Fault::mismatch;
  return word == "broken" ? Fault::broken : Fault::fatal;
}

/// Two ends that are connected: this process's and the child's.
struct PipeEnds {
  Descriptor own;
  Descriptor childs;
};

PipeEnds connected(int (*make)(int* ends)) {
  std::array<int, 2> ends{};
  if (make(ends.data()) != 0)
    throw Error(Fault::fatal, std::string("cannot connect a Python child: ") + std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

int milliseconds(Seconds left) { return left > 0 ? static_cast<int>(left * 1e3) + 1 : 0; }

}  // namespace

Child::Child(const std::string& program, Seconds timeout) : timeout_(timeout) {
  const auto pipe = [](int* ends) { return ::pipe2(ends, O_CLOEXEC); };
  PipeEnds socket =
      connected([](int* ends) { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); });
  PipeEnds words = connected(pipe);
  PipeEnds reason = connected(pipe);
  socket_ = std::move(socket.own);
  words_ = std::move(words.own);
  ::fcntl(words_.number(), F_SETFL, O_NONBLOCK);
  start(program, socket.childs.number(), words.childs.number(), reason.childs.number());
  int problem = pid_ > 0 ? 0 : errno;
  reason.childs.close();
  // The child's end of this pipe closes when its program starts: there is something to read only where it does not.
  if (pid_ > 0) static_cast<void>(!::read(reason.own.number(), &problem, sizeof problem));
  if (problem == 0) return;
  if (pid_ > 0) static_cast<void>(::waitpid(pid_, &exit_status_, 0));
  throw Error(Fault::fatal, "cannot start a Python child, " + program + ": " + std::strerror(problem));
}

/// Between fork and exec the child makes system calls alone: other threads of this process may have held any lock. The
/// number of what went wrong there goes to `reason`.
void Child::start(const std::string& program, int socket, int words, int reason) {
  std::string number = std::to_string(socket);
  std::string command = program;
  std::string text_flag = "-c";
  std::string text(program_text);
  std::array<char*, 5> arguments{command.data(), text_flag.data(), text.data(), number.data(), nullptr};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it was gone before the kernel was asked
  ::fcntl(socket, F_SETFD, 0);
  ::dup2(words, STDOUT_FILENO);
  ::dup2(words, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  const int problem = errno;
  static_cast<void>(!::write(reason, &problem, sizeof problem));
  ::_exit(127);
}

Child::~Child() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  await_end();
  take_words();
}

Message Child::ask(const Message& command) {
  tell(command);
  return hear();
}

void Child::tell(const Message& command) {
  const std::string text = command.dump();
  std::string bytes;
  for (std::size_t i = 0; i < length_bytes; ++i)
    bytes.push_back(static_cast<char>(text.size() >> (8 * i) & 0xFFU));
  bytes += text;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ending());
    sent += static_cast<std::size_t>(count);
  }
}

Message Child::hear() {
  const Seconds deadline = steady_seconds() + timeout_;
  std::string head;
  receive(head, length_bytes, deadline);
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(head[i])) << (8 * i);
  std::string text;
  receive(text, length, deadline);
  Message answer = Message::parse(text, nullptr, false);
  if (answer.is_object() && answer.contains("value")) return std::move(answer["value"]);
  if (!answer.is_object() || !answer.contains("fault") || !answer.contains("what"))
    fail("answers with what is no answer");
  throw Error(fault_of(answer["fault"].get<std::string>()), answer["what"].get<std::string>());
}

void Child::receive(std::string& bytes, std::size_t count, Seconds deadline) {
  while (bytes.size() < count) {
    std::array<pollfd, 2> watched{pollfd{socket_.number(), POLLIN, 0}, pollfd{words_.number(), POLLIN, 0}};
    const Seconds left = deadline - steady_seconds();
    const int ready = left > 0 ? ::poll(watched.data(), watched.size(), milliseconds(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) fail("has been silent for " + std::to_string(std::lround(timeout_)) + " s");
    if (watched[1].revents != 0) take_words();
    if (watched[0].revents == 0) continue;
    const std::size_t before = bytes.size();
    bytes.resize(count);
    const ssize_t got = ::recv(socket_.number(), bytes.data() + before, count - before, 0);
    bytes.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0 || (got < 0 && errno != EINTR)) fail(ending());
  }
}

/// Passes on what the child has printed and keeps the end of it. Where a child closes its output and goes on, this
/// closes the pipe too: poll() would return at once each time.
void Child::take_words() {
  std::array<char, most_words> piece{};
  for (;;) {
    const ssize_t got = ::read(words_.number(), piece.data(), piece.size());
    if (got == 0) words_.close();
    if (got <= 0) return;
    static_cast<void>(!::write(STDERR_FILENO, piece.data(), static_cast<std::size_t>(got)));
    last_words_.append(piece.data(), static_cast<std::size_t>(got));
    if (last_words_.size() > most_words) last_words_.erase(0, last_words_.size() - most_words);
  }
}

void Child::fail(const std::string& what) {
  take_words();
  const std::string words = last_line(last_words_);
  throw Error(Fault::fatal, "the Python child " + what + (words.empty() ? "" : ": " + words));
}

std::string Child::ending() {
  await_end();
  if (WIFSIGNALED(exit_status_))
    return "died of signal " + std::to_string(WTERMSIG(exit_status_)) + " (" +
           ::strsignal(WTERMSIG(exit_status_)) + ")";
  return "ended with exit code " + std::to_string(WEXITSTATUS(exit_status_));
}

void Child::await_end() {
  await_until(steady_seconds() + end_timeout);
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  await_until(steady_seconds() +
              end_timeout);  // one that is stuck in the kernel dies when the driver lets go
}

void Child::await_until(Seconds deadline) {
  while (pid_ > 0 && steady_seconds() < deadline) {
    take_words();
    if (::waitpid(pid_, &exit_status_, WNOHANG) != 0) {
      pid_ = -1;
      return;
    }
    const timespec pause{0, pause_ns};
    ::nanosleep(&pause, nullptr);
  }
}

Child& PythonContext::child() {
  if (child_) return *child_;
  if (program_.empty())
    throw Error(Fault::unsupported, "this engine was told of no Python: LINKSCOPE_PYTHON_PROGRAM is not set");
  // Longer than the others wait for this process: they are the ones to say who is late.
  const Seconds timeout = place_.limit ? 2 * *place_.limit + timeout_beside_limit : timeout_alone;
  auto started = std::make_unique<Child>(program_, timeout);
  static_cast<void>(started->ask({{"do", "begin"},
                                  {"rank", place_.rank},
                                  {"size", place_.size},
                                  {"root_host", place_.root_host},
                                  {"limit_s", place_.limit.value_or(timeout_alone)},
                                  {"memory_limit_bytes", place_.memory_limit}}));
  child_ = std::move(started);
  return *child_;
}

const Message& PythonContext::installed() {
  if (installed_.is_null()) installed_ = child().ask({{"do", "describe"}});
  return installed_;
}

Support PythonContext::has(const std::string& what) {
  try {
    const Message& problems = installed().at("problems");
    if (!problems.contains(what)) return Support::no("this linkscope package is older than its engine");
    const Message& problem = problems.at(what);
    return problem.is_null() ? Support::yes() : Support::no(problem.get<std::string>());
  } catch (const Error& error) {
    return Support::no(error.what());
  }
}

std::map<std::string, std::string> PythonContext::versions() {
  try {
    return installed().at("versions").get<std::map<std::string, std::string>>();
  } catch (const Error&) {
    return {};  // has() says why
  }
}

void PythonContext::finish() {
  if (!child_) return;
  static_cast<void>(child_->ask({{"do", "close"}}));
  child_->await_end();
  child_.reset();
}

}  // namespace linkscope::python
