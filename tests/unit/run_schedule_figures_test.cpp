// What the steps of a schedule cost on a described node: what is read, and that each mistake is named with its place.
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "run/schedule_figures_field.hpp"

namespace linkscope {
namespace {

const char* const all_of_it = R"({
  "messages": [{"pairs": [[0, 1], [1, 0]], "from_bytes": 8, "below_bytes": 1024, "figures": {"latency_us": 3}}],
  "packs": [{"pairs": [[0, 0]], "figures": {"step_us": 2}}],
  "copies_out": [{"pairs": [[1, 1]], "figures": {"efficiency": 0.5}}], "copies_in": [],
  "staged_on": ["numa:0", "numa:1"],
  "collectives": {"all-reduce": {"step_us": 4}}})";

std::shared_ptr<const ScheduleFigures> read_figures(const std::string& text) {
  return parse_schedule_figures(Json::parse(text), "flow", 2);
}

std::string complaint_of(const std::string& from, const std::string& to) {
  std::string text = all_of_it;
  text.replace(text.find(from), from.size(), to);
  try {
    read_figures(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(ScheduleFiguresField, ReadsEverything) {
  const auto figures = read_figures(all_of_it);
  ASSERT_EQ(figures->messages.size(), 1U);
  EXPECT_EQ(figures->messages[0].pairs, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}}));
  EXPECT_EQ(figures->messages[0].from, 8U);
  EXPECT_EQ(figures->messages[0].below, 1024U);
  EXPECT_DOUBLE_EQ(figures->messages[0].figures.latency_us, 3);
  EXPECT_EQ(figures->packs.at(0).from, 0U);
  EXPECT_DOUBLE_EQ(figures->packs[0].figures.step_us, 2);
  EXPECT_DOUBLE_EQ(figures->copies_out.at(0).figures.efficiency, 0.5);
  EXPECT_TRUE(figures->copies_in.empty());
  EXPECT_EQ(figures->staged_on.at(1).text(), "numa:1");
  EXPECT_TRUE(figures->collectives.contains("all-reduce"));
  EXPECT_FALSE(figures->collectives.contains("barrier"));
}

TEST(ScheduleFiguresField, NamesThePlaceOfAMistake) {
  EXPECT_EQ(complaint_of("[1, 0]", "[2, 0]"), "flow.messages[0].pairs: must be two ranks of the schedule");
  EXPECT_EQ(complaint_of("[1, 0]", "[1]"), "flow.messages[0].pairs: must be two ranks of the schedule");
  EXPECT_EQ(complaint_of("[1, 0]", "[1, -1]"), "flow.messages[0].pairs: must be two ranks of the schedule");
  EXPECT_EQ(complaint_of(", \"numa:1\"", ""), "flow: staged_on: must have an entry for each rank");
  EXPECT_NE(complaint_of("\"numa:1\"", "1").find("flow: staged_on"), std::string::npos);
  EXPECT_NE(complaint_of("\"efficiency\": 0.5", "\"efficiency\": 0").find("flow.copies_out[0].figures"),
            std::string::npos);
  EXPECT_NE(complaint_of("all-reduce", "broadcast").find("flow.collectives: broadcast"), std::string::npos);
  EXPECT_NE(complaint_of("packs", "pack").find("flow: pack"), std::string::npos);
}

}  // namespace
}  // namespace linkscope
