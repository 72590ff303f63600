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
constexpr Parameter order = word("order", "up|down", "up: from the start; down: from the end");
constexpr Parameter streaming = integer("streaming", "1: past the caches; 0: through them", 0, 1, 0);
constexpr Parameter reuse = integer("reuse", "1: blocks are taken again", 0, 1, 1);
constexpr Parameter stride = integer("stride", "bytes between nodes", 8, std::int64_t{1} << 48U, 256);
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
  EXPECT_EQ(reuse.line(), "1: blocks are taken again; 0 or 1; default: 1");
  EXPECT_EQ(stride.line(), "bytes between nodes; at least 8; default: 256");
}

TEST(Parameter, ListsNoValuesThatItsTextExplains) {
  EXPECT_EQ(order.line(), "up: from the start; down: from the end; default: up");
  EXPECT_EQ(streaming.line(), "1: past the caches; 0: through them; default: 0");
  EXPECT_EQ(order.objection("left"), "'left' is not up or down");
}

TEST(Parameter, NamesTheLimitThatANumberBreaks) {
  EXPECT_EQ(stride.objection("7"), "'7' is not at least 8");
  EXPECT_EQ(stride.objection("281474976710657"), "'281474976710657' is not at most 281474976710656");
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
