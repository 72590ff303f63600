// Watchdog: who is told to leave, when, and who is not.
#include "comm/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <string>

#include "comm/socket.hpp"

namespace linkscope {
namespace {

struct Ends {
  Socket here;
  Socket there;
};

Ends connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {Socket(ends[0]), Socket(ends[1])};
}

class WatchTest : public ::testing::Test {
 protected:
  std::promise<std::string> left_;
  std::future<std::string> leaving_ = left_.get_future();
  Watchdog watch_{[this](const std::string& why) { left_.set_value(why); }};

  [[nodiscard]] bool has_left() const {
    return leaving_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
};

TEST_F(WatchTest, LeavesWhenThePeerIsGone) {
  Ends first = connected();
  Ends second = connected();
  const auto over_first = watch_.over(first.here.descriptor(), 0, [] { return "the first is gone"; });
  const auto over_second = watch_.over(second.here.descriptor(), 0, [] { return "the second is gone"; });
  second.there = Socket();
  EXPECT_EQ(leaving_.get(), "the second is gone");
}

TEST_F(WatchTest, WordsAreNoEnd) {
  Ends ends = connected();
  Ends other = connected();
  const auto order = watch_.over(ends.here.descriptor(), 0, [] { return "the one that spoke"; });
  const auto last = watch_.over(other.here.descriptor(), 0, [] { return "the other"; });
  ASSERT_EQ(ends.there.send("still here", "", deadline_in(1)), Outcome::done);
  other.there = Socket();
  EXPECT_EQ(leaving_.get(), "the other");
}

TEST_F(WatchTest, GivesTimeToGoByItself) {
  Ends ends = connected();
  {
    const auto order = watch_.over(ends.here.descriptor(), 3600, [] { return "too early"; });
    ends.there = Socket();
    // The thread is awake and goes by: whatever comes later is told, this is not.
    const auto later = watch_.over(std::nullopt, 0, [] { return "later"; });
    EXPECT_EQ(leaving_.get(), "later");
  }
}

TEST_F(WatchTest, ForgetsWhatIsOver) {
  Ends ends = connected();
  {
    const auto order = watch_.over(ends.here.descriptor(), 0, [] { return "forgotten"; });
  }
  ends.there = Socket();
  const auto later = watch_.over(std::nullopt, 0, [] { return "later"; });
  EXPECT_EQ(leaving_.get(), "later");
}

TEST(WatchEndTest, EndsWithOrdersGivenAndWithout) {
  Ends ends = connected();
  for (int i = 0; i < 100; ++i) {
    Watchdog watch([](const std::string& why) { FAIL() << why; });
    if (i % 2 == 0) continue;
    const auto order = watch.over(ends.here.descriptor(), 0, [] { return "nothing happened"; });
  }
}

}  // namespace
}  // namespace linkscope
