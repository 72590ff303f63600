// What Pack writes Unpack reads, and nothing else passes.
#include "base/pack.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace linkscope {
namespace {

struct Handle {
  char bytes[3];
  std::uint16_t port;
};

std::string packed() {
  Pack pack;
  pack.put(-7)
      .text("a name")
      .put(Handle{{'x', 'y', 'z'}, 99})
      .text("")
      .put<std::uint64_t>(2)
      .put('c')
      .put('d');
  return pack.bytes();
}

/// Reads all of it; throws where it is not what packed() wrote.
void unpack(std::string_view bytes) {
  Unpack unpack(bytes, "rank 1 sent no names");
  EXPECT_EQ(unpack.number(-10), -7);
  EXPECT_EQ(unpack.text(), "a name");
  EXPECT_EQ(unpack.get<Handle>().port, 99);
  EXPECT_EQ(unpack.text(), "");
  EXPECT_EQ(unpack.count(), 2U);
  EXPECT_EQ(unpack.get<char>(), 'c');
  EXPECT_EQ(unpack.get<char>(), 'd');
  unpack.end();
}

Fault fault_of(std::string_view bytes) {
  try {
    unpack(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("rank 1 sent no names", 0), 0U);
    return error.fault();
  }
  return Fault::fatal;
}

TEST(Pack, ReadsWhatWasWritten) { unpack(packed()); }

TEST(Pack, RefusesBytesThatEndTooEarlyOrTooLate) {
  const std::string whole = packed();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(fault_of(std::string_view(whole).substr(0, length)), Fault::broken) << length;
  EXPECT_EQ(fault_of(whole + "!"), Fault::broken);
}

TEST(Pack, RefusesLengthsCountsAndNumbersThatCannotBe) {
  Pack huge;
  huge.put(std::numeric_limits<std::uint64_t>::max());
  EXPECT_THROW(static_cast<void>(Unpack(huge.bytes(), "no").text()), Error);
  EXPECT_THROW(static_cast<void>(Unpack(huge.bytes(), "no").count()), Error);
  Pack number;
  number.put(8);
  EXPECT_THROW(static_cast<void>(Unpack(number.bytes(), "no").number(0, 7)), Error);
  EXPECT_THROW(static_cast<void>(Unpack(number.bytes(), "no").number(9)), Error);
  EXPECT_EQ(Unpack(number.bytes(), "no").number(0, 8), 8);
}

}  // namespace
}  // namespace linkscope
