// OtherProcess: the second process of a test, which is the same program started again.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "channel.hpp"

namespace linkscope::testing {

/// Runs one test of this program, which answers over a channel until its partner is gone.
class OtherProcess {
 public:
  /// `test`: "Suite.Name". In its environment `variable` says which descriptor is its end of the channel. Throws
  /// std::runtime_error.
  OtherProcess(const std::string& test, const char* variable) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("no socket for another process");
    channel_ = std::make_unique<Channel>(ends[0]);
    const Channel there(ends[1]);  // closed here once the other process has it
    fcntl(ends[1], F_SETFD, 0);
    setenv(variable, std::to_string(ends[1]).c_str(), 1);
    child_ = fork();
    if (child_ == 0) {
      execl("/proc/self/exe", "linkscope-gpu-tests", ("--gtest_filter=" + test).c_str(), nullptr);
      _exit(127);
    }
    unsetenv(variable);
    if (child_ < 0) throw std::runtime_error("no other process");
  }
  ~OtherProcess() { static_cast<void>(end()); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  [[nodiscard]] const Channel& channel() const { return *channel_; }
  /// Lets it go and waits for it: 0 where its test has passed, else what waitpid() says.
  [[nodiscard]] int end() {
    channel_.reset();
    int status = 0;
    if (child_ > 0 && waitpid(child_, &status, 0) != child_) status = -1;
    child_ = 0;
    return status;
  }

 private:
  std::unique_ptr<Channel> channel_;
  pid_t child_ = 0;
};

}  // namespace linkscope::testing
