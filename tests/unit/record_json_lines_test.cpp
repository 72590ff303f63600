// Lines, timestamps and what happens when nobody takes them.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <limits>

#include "record/json_lines.hpp"

namespace linkscope {
namespace {

TEST(JsonLines, WritesOneLineInTheOrderGiven) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  JsonLines(ends[1]).write({{"record", "start"}, {"id", "a\nb"}});
  std::array<char, 100> text{};
  const ssize_t length = read(ends[0], text.data(), text.size());
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(length)),
            "{\"record\":\"start\",\"id\":\"a\\nb\"}\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(JsonLines, AFullDiskIsAnError) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  EXPECT_THROW(JsonLines(full).write({{"record", "done"}}), WriteError);
  close(full);
}

TEST(JsonLines, AReaderThatWentAwayIsAnError) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  EXPECT_THROW(JsonLines(ends[1]).write({{"record", "done"}}), WriteError);
  close(ends[1]);
}

TEST(Packed, ComesBackAsItWasOrNotAtAll) {
  const std::vector<std::string> words{"", std::string("\0\n\xFF", 3), "x"};
  const std::string bytes = packed(words);
  EXPECT_EQ(unpacked<std::vector<std::string>>(bytes), words);
  EXPECT_FALSE(unpacked<std::vector<int>>(bytes));
  EXPECT_FALSE(unpacked(bytes.substr(0, 3)));
  EXPECT_FALSE(unpacked("short"));
  EXPECT_FALSE(unpacked(""));
}

TEST(JsonLines, KeepsWhatOthersPrintAmongTheDiagnostics) {
  std::array<int, 2> output{};
  std::array<int, 2> diagnostics{};
  ASSERT_EQ(pipe(output.data()), 0);
  ASSERT_EQ(pipe(diagnostics.data()), 0);
  const auto arrived = [](int end) {
    std::array<char, 100> text{};
    const ssize_t length = read(end, text.data(), text.size());
    return std::string(text.data(), static_cast<std::size_t>(length));
  };
  {
    JsonLines lines = JsonLines::alone_at(output[1], diagnostics[1]);
    ASSERT_EQ(write(output[1], "NCCL INFO", 9), 9);
    lines.write({{"record", "done"}});
  }
  ASSERT_EQ(write(output[1], "again", 5), 5);
  EXPECT_EQ(arrived(output[0]), "{\"record\":\"done\"}\nagain") << "it leads where it did";
  EXPECT_EQ(arrived(diagnostics[0]), "NCCL INFO");
  for (const int end : {output[0], output[1], diagnostics[0], diagnostics[1]}) close(end);
}

TEST(JsonLines, AClosedOutputIsAnError) {
  const int closed = open("/dev/null", O_WRONLY);
  close(closed);
  EXPECT_THROW(JsonLines::alone_at(closed, STDERR_FILENO), WriteError);
}

TEST(Rounded, KeepsNineDigits) {
  EXPECT_EQ(Json(rounded(0.1 + 0.2)).dump(), "0.3");
  EXPECT_DOUBLE_EQ(rounded(1.23456789012e-6), 1.23456789e-6);
}

TEST(Rfc3339, IsUtcWithMilliseconds) {
  using namespace std::chrono;
  EXPECT_EQ(rfc3339(system_clock::time_point(milliseconds(250))), "1970-01-01T00:00:00.250Z");
  EXPECT_EQ(rfc3339(system_clock::time_point(seconds(1767225599))), "2025-12-31T23:59:59.000Z");
}

}  // namespace
}  // namespace linkscope
