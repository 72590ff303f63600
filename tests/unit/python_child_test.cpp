// A Python child whose program is a script of bash: what it costs while it is silent, and what is left where it cannot
// start.
#include "backend/python/child.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "backend/python/methods.hpp"
#include "base/error.hpp"

namespace linkscope::python {
namespace {

std::string script(const std::string& lines) {
  const std::string path = ::testing::TempDir() + "linkscope-child";
  std::ofstream(path) << "#!/bin/bash\n" << lines;
  ::chmod(path.c_str(), 0700);
  return path;
}

Seconds cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<Seconds>(time.tv_sec) + static_cast<Seconds>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(PythonChild, WaitsWithoutWorkForOneThatHasClosedItsOutput) {
  Child child(script("exec >&- 2>&-\nsleep 1\nprintf '\\x0b\\0\\0\\0{\"value\":1}' >&$3\nread -t 9 <&$3\n"),
              20);
  const Seconds before = cpu_seconds();
  EXPECT_EQ(child.hear(), 1);
  EXPECT_LT(cpu_seconds() - before, 0.3);
}

TEST(PythonChild, SaysWhyItCannotStartAndLeavesNothingOpen) {
  const std::ptrdiff_t before = open_descriptors();
  try {
    const Child child("/nowhere/python", 20);
    FAIL() << "it started";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::fatal);
    EXPECT_STREQ(error.what(), "cannot start a Python child, /nowhere/python: No such file or directory");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(PythonChild, LeavesNothingOpenWhereDescriptorsRunOut) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers open pipes to look at memory";
#endif
  const std::ptrdiff_t before = open_descriptors();
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (std::ptrdiff_t room = 1; room <= 5; ++room) {
    rlimit narrow = limit;
    narrow.rlim_cur = static_cast<rlim_t>(before - 1 + room);
    ::setrlimit(RLIMIT_NOFILE, &narrow);
    EXPECT_THROW(Child("/nowhere/python", 20), Error) << room;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(open_descriptors(), before) << room;
  }
}

TEST(PythonGate, TakesNoClockButThatOfTheCaseAndNoTail) {
  PythonTransfer transfer(std::make_shared<PythonContext>("", GroupPlace{}), 1, Clock::batch);
  PythonGate gate;
  EXPECT_NO_THROW(gate.hold({{&transfer, 1}}, Clock::batch));
  EXPECT_THROW(gate.hold({{&transfer, 1}}, Clock::host), Error);
  EXPECT_THROW(gate.hold({{&transfer, 1, 1}}, Clock::batch), Error);
}

}  // namespace
}  // namespace linkscope::python
