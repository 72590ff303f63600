// A Python child whose program is a script of bash: what it costs while it is silent, and what is left where it cannot
// start; the quantities of Python's methods.
#include "backend/python/child.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

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

TEST(PythonMethods, PingPongsBarriersAndEmptyMessagesAreLatencies) {
  const auto quantity = [rows = methods(std::make_shared<PythonContext>("", GroupPlace{}))](
                            std::string_view name, const char* parameter, const char* value, Bytes bytes) {
    Flow flow;
    flow.bytes = bytes;
    flow.parameters.set(parameter, value);
    return std::find_if(rows.begin(), rows.end(), [&](const Method& row) { return row.name() == name; })
        ->quantity(flow);
  };
  for (const char* name : {"torch-send", "torch-mpi"}) {
    EXPECT_EQ(quantity(name, "call", "ping-pong", 64), Quantity::latency) << name;
    EXPECT_EQ(quantity(name, "call", "send", 64), Quantity::bandwidth) << name;
    EXPECT_EQ(quantity(name, "call", "send", 0), Quantity::latency) << name;
  }
  EXPECT_EQ(quantity("nvshmem", "call", "ping-pong", 64), Quantity::latency);
  EXPECT_EQ(quantity("nvshmem", "call", "transfer", 64), Quantity::bandwidth);
  for (const char* name : {"torch-collective", "nvshmem-collective"}) {
    EXPECT_EQ(quantity(name, "collective", "barrier", 64), Quantity::latency) << name;
    EXPECT_EQ(quantity(name, "collective", "all-reduce", 64), Quantity::bandwidth) << name;
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
