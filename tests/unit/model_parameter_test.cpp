// Tables of parameters: what a plan may set, what describe prints, what a method reads.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/parameter.hpp"

namespace linkscope {
namespace {

enum class Until { end, returns };

constexpr Parameter hops = integer("hops", "loads in a row", 1, 64, 8);
constexpr Parameter blocks = integer("blocks", "blocks of the grid", 0, 9);
constexpr Parameter until = word("until", "end|return", "what ends the time");
constexpr Parameter scope = optional_word("scope", "device|system", "how far an atomic reaches");
constexpr Parameter region = text("region", "rows x columns");

Parameters set(const std::string& name, const std::string& value) {
  Parameters parameters;
  parameters.set(name, value);
  return parameters;
}

TEST(Parameter, SaysWhatItTakes) {
  EXPECT_EQ(hops.line(), "loads in a row; 1 to 64; default: 8");
  EXPECT_EQ(blocks.line(), "blocks of the grid; 0 to 9");
  EXPECT_EQ(until.line(), "what ends the time; end or return; default: end");
  EXPECT_EQ(region.line(), "rows x columns");
}

TEST(Parameter, ObjectsToAllElse) {
  for (const char* bad : {"0", "65", "-1", "eight", "8.5", "8 ", "", "99999999999999999999"})
    EXPECT_NE(hops.objection(bad), "") << bad;
  EXPECT_EQ(hops.objection("64"), "");
  for (const char* bad : {"returns", "END", "", "end|return"}) EXPECT_NE(until.objection(bad), "") << bad;
  EXPECT_EQ(until.objection("return"), "");
  EXPECT_EQ(region.objection("anything"), "");
}

TEST(Parameters, AreReadByTheirConstants) {
  const Parameters none;
  EXPECT_EQ(none.number(hops), 8);
  EXPECT_FALSE(none.given_number(blocks));
  EXPECT_EQ(none.choice<Until>(until), Until::end);
  EXPECT_FALSE(none.given_choice<Until>(scope));
  EXPECT_FALSE(none.sets(region));
  EXPECT_EQ(set("hops", "64").number(hops), 64);
  EXPECT_EQ(set("until", "return").choice<Until>(until), Until::returns);
  EXPECT_EQ(set("region", "4x4").given_text(region), "4x4");
  EXPECT_THROW(static_cast<void>(set("hops", "65").number(hops)), Error);
}

}  // namespace
}  // namespace linkscope
