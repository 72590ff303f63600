// Addresses, sockets and frames: what arrives is what was sent, and ends are noticed.
#include "comm/socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/channel.hpp"

namespace linkscope {
namespace {

constexpr Seconds long_enough = 30;

std::pair<Channel, Channel> connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {Channel(Socket(ends[0])), Channel(Socket(ends[1]))};
}

/// Not compressible, not periodic.
std::string noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 24U);
  }
  return text;
}

TEST(AddressTest, ReadsHostAndPort) {
  const Address address = Address::parse("node7.cluster:4711", "ROOT");
  EXPECT_EQ(address.host, "node7.cluster");
  EXPECT_EQ(address.port, 4711);
  EXPECT_EQ(address.text(), "node7.cluster:4711");
  EXPECT_EQ(Address::parse("[fe80::1]:80", "ROOT").host, "fe80::1");
  EXPECT_EQ(Address::parse("[fe80::1]:80", "ROOT").text(), "[fe80::1]:80");
}

TEST(AddressTest, NamesThePlaceOfWhatIsNone) {
  for (const char* text :
       {"", "node", ":80", "node:", "node:port", "node:80x", "node:0", "node:65536", "node:-1"}) {
    try {
      static_cast<void>(Address::parse(text, "LINKSCOPE_CONTROL"));
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input);
      EXPECT_EQ(std::string(error.what()).find("LINKSCOPE_CONTROL: '" + std::string(text) + "'"), 0U);
    }
  }
}

TEST(SocketTest, SaysWhatCannotBeReached) {
  std::uint16_t free_port = 0;
  {
    const Listener gone{"127.0.0.1"};
    free_port = gone.port();
  }
  try {
    static_cast<void>(Socket::connect({"127.0.0.1", free_port}, deadline_in(long_enough)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::bad_input);
    EXPECT_EQ(std::string(error.what()),
              "cannot reach 127.0.0.1:" + std::to_string(free_port) + ": Connection refused");
  }
}

TEST(ListenerTest, IsReachedByItsOwnAddressAlone) {
  const Listener listener{"127.0.0.1"};
  const Socket caller = Socket::connect({"127.0.0.1", listener.port()}, deadline_in(long_enough));
  EXPECT_EQ(caller.local_host(), "127.0.0.1");
  EXPECT_THROW(static_cast<void>(Socket::connect({"127.0.0.2", listener.port()}, deadline_in(long_enough))),
               Error);
}

TEST(ListenerTest, NamesAnAddressThatIsNotThisHosts) {
  for (const char* host : {"192.0.2.1", "node7"}) {
    try {
      const Listener none{host};
      FAIL() << host;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::broken);
      EXPECT_EQ(std::string(error.what()).find("cannot listen at " + std::string(host) + ": "), 0U);
    }
  }
}

TEST(ChannelTest, CarriesFramesOfAnySize) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{4064}, std::size_t{4065}, std::size_t{5} * MiB}) {
    auto [here, there] = connected();
    const std::string payload = noise(bytes);
    std::thread sender([&one = here, &payload] {
      EXPECT_EQ(one.send({FrameKind::word, 17, 2.5, payload}, deadline_in(long_enough)), Outcome::done);
    });
    Frame frame;
    EXPECT_EQ(there.receive(frame, deadline_in(long_enough)), Outcome::done);
    sender.join();
    EXPECT_EQ(frame.kind, FrameKind::word);
    EXPECT_EQ(frame.sequence, 17U);
    EXPECT_EQ(frame.moment, 2.5);
    EXPECT_TRUE(frame.payload == payload) << bytes;
  }
}

TEST(ChannelTest, TellsFramesApartThatArriveTogether) {
  auto [here, there] = connected();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(here.send({FrameKind::word, i, 0, std::string(i, 'x')}, deadline_in(long_enough)),
              Outcome::done);
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    Frame frame;
    ASSERT_EQ(there.take(frame), Outcome::done);
    EXPECT_EQ(frame.sequence, i);
    EXPECT_EQ(frame.payload.size(), i);
  }
  Frame none;
  EXPECT_EQ(there.take(none), Outcome::late);
}

TEST(ChannelTest, NoticesAnEndInTheMiddleOfAFrame) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Channel there{Socket(ends[1])};
  {
    Channel whole{Socket(::dup(ends[0]))};
    ASSERT_EQ(whole.send({FrameKind::word, 1, 0, "entire"}, deadline_in(long_enough)), Outcome::done);
    Socket cut(ends[0]);
    ASSERT_EQ(cut.send("2hsl", "", deadline_in(long_enough)), Outcome::done);
  }
  Frame frame;
  EXPECT_EQ(there.receive(frame, deadline_in(long_enough)), Outcome::done);
  EXPECT_EQ(frame.payload, "entire");
  EXPECT_EQ(there.receive(frame, deadline_in(long_enough)), Outcome::closed);
}

TEST(ChannelTest, IsNotTakenInByStrangers) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Channel there{Socket(ends[1])};
  Socket browser(ends[0]);
  ASSERT_EQ(browser.send("GET", "", deadline_in(long_enough)), Outcome::done);
  Frame frame;
  EXPECT_EQ(there.receive(frame, deadline_in(long_enough)), Outcome::garbled);
}

TEST(ChannelTest, TakesNoMoreThanItAllows) {
  auto [here, there] = connected();
  there.allow(10);
  ASSERT_EQ(here.send({FrameKind::word, 1, 0, "0123456789"}, deadline_in(long_enough)), Outcome::done);
  ASSERT_EQ(here.send({FrameKind::word, 2, 0, "0123456789a"}, deadline_in(long_enough)), Outcome::done);
  Frame frame;
  EXPECT_EQ(there.take(frame), Outcome::done);
  EXPECT_EQ(there.take(frame), Outcome::garbled);
}

TEST(ChannelTest, KeepsTheReasonOfAFarewell) {
  auto [here, there] = connected();
  EXPECT_EQ(there.unread_abort_reason(), "");
  ASSERT_EQ(here.send({FrameKind::abort, 1, 0, "rank 3 is gone"}, deadline_in(long_enough)), Outcome::done);
  EXPECT_EQ(there.unread_abort_reason(), "rank 3 is gone");
  Frame frame;
  EXPECT_EQ(there.take(frame), Outcome::closed);
  EXPECT_EQ(there.abort_reason(), "rank 3 is gone");
}

TEST(ChannelTest, IsLateWhereNothingComes) {
  auto [here, there] = connected();
  Frame frame;
  EXPECT_EQ(there.receive(frame, deadline_in(1e-3)), Outcome::late);
  EXPECT_GE(here.descriptor(), 0);
}

}  // namespace
}  // namespace linkscope
