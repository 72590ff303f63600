// Plans: what is read, and that each mistake is named with its place.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "run/plan.hpp"

namespace linkscope {
namespace {

const char* const whole = R"({
  "schema": 1,
  "options": {"precision": 0.02, "max_samples": 9, "point_budget_s": 1, "memory_limit_bytes": 4096},
  "cases": [{
    "id": "one", "clock": "host", "cache": "flushed",
    "flows": [
      {"method": "memcpy", "executor": "numa:1", "bytes": 64,
       "source": {"device": "numa:0", "memory": "huge", "placement": "first-touch", "first_touch": "numa:1"},
       "destination": {"device": "numa:1", "memory": "pageable"},
       "parameters": {"threads": 2, "peer_access": "off"}, "tuning_group": "g"},
      {"method": "memcpy", "executor": "numa:0", "bytes": 1, "source": {"device": "numa:0", "memory": "huge"},
       "role": "background"}]}]})";

TEST(ParsePlan, ReadsEverything) {
  const Plan plan = parse_plan(whole);
  EXPECT_DOUBLE_EQ(plan.sampling.precision, 0.02);
  EXPECT_EQ(plan.sampling.max_samples, 9U);
  EXPECT_EQ(plan.memory_limit_bytes, 4096U);
  ASSERT_EQ(plan.cases.size(), 1U);
  const Case& wanted = plan.cases[0];
  EXPECT_EQ(wanted.id, "one");
  EXPECT_EQ(wanted.regime.clock, Clock::host);
  EXPECT_EQ(wanted.regime.cache, Cache::flushed);
  const Flow& flow = wanted.flows.at(0);
  EXPECT_EQ(flow.source->placement, Placement::first_touch);
  EXPECT_EQ(flow.source->first_touch.text(), "numa:1");
  EXPECT_EQ(flow.destination->placement, Placement::bound);
  EXPECT_EQ(flow.destination->first_touch, flow.destination->device);
  EXPECT_EQ(flow.parameters.all().at("threads"), "2");
  EXPECT_EQ(flow.parameters.all().at("peer_access"), "off");
  EXPECT_EQ(flow.tuning_group, "g");
  EXPECT_EQ(wanted.flows.at(1).role, Role::background);
  EXPECT_FALSE(wanted.flows.at(1).destination);
}

TEST(ParsePlan, WhatIsAlongsideIsMeasured) {
  std::string text = whole;
  text.replace(text.find("background"), 10, "alongside");
  EXPECT_EQ(parse_plan(text).cases.at(0).flows.at(1).role, Role::measured);
}

/// The error's text for `whole` with the first `from` replaced.
std::string complaint(const std::string& from, const std::string& to) {
  std::string text = whole;
  text.replace(text.find(from), from.size(), to);
  try {
    static_cast<void>(parse_plan(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::bad_input);
    return error.what();
  }
  return "accepted";
}

TEST(ParsePlan, ReadsWhatEarlierVisitsTuned) {
  std::string text = whole;
  text.replace(text.find("\"cases\""), 0, R"("tuned": {"g": {"blocks": 66, "streaming": 0}}, )");
  const Setting shape = {{"blocks", 66}, {"streaming", 0}};
  const TuningCache tuned = parse_plan(text).tuned;
  ASSERT_EQ(tuned.size(), 1U);
  EXPECT_EQ(tuned.at("g").chosen, shape);
  EXPECT_TRUE(tuned.at("g").tried.empty());
  EXPECT_TRUE(parse_plan(whole).tuned.empty());
  EXPECT_EQ(complaint("\"cases\"", R"("tuned": {"g": {"blocks": -1}}, "cases")"),
            "tuned 'g': blocks: must be a whole number of at least 0");
}

TEST(ParsePlan, NamesCaseAndField) {
  EXPECT_EQ(complaint("\"bytes\": 64", "\"bytes\": -1"),
            "case 'one': flows[0]: bytes: must be a whole number of at least 0");
  EXPECT_EQ(complaint("\"clock\": \"host\"", "\"clock\": \"wall\""),
            "case 'one': clock: 'wall' is none of device, host, batch");
  EXPECT_EQ(complaint("\"executor\": \"numa:1\"", "\"executor\": \"cpu\""),
            "case 'one': flows[0]: executor: 'cpu' is not a device: say numa:N or gpu:N");
  EXPECT_EQ(complaint("\"memory\": \"pageable\"", "\"memory\": 3"),
            "case 'one': flows[0].destination: memory: must be a text");
  EXPECT_EQ(complaint("\"threads\": 2", "\"threads\": 2.5"),
            "case 'one': flows[0]: parameters.threads: must be a whole number or a text");
  EXPECT_EQ(complaint("\"method\": \"memcpy\", ", ""), "case 'one': flows[0]: method: is missing");
}

TEST(ParsePlan, RejectsUnknownFields) {
  EXPECT_EQ(complaint("\"bytes\": 64", "\"bytes\": 64, \"sise\": 1"),
            "case 'one': flows[0]: sise: is no field that an engine reads");
  EXPECT_EQ(complaint("\"precision\"", "\"presicion\""),
            "options: presicion: is no field that an engine reads");
  for (const std::string models : {"route", "figures", "schedule_figures"}) {
    EXPECT_EQ(complaint("\"bytes\": 64", "\"bytes\": 64, \"" + models + "\": {}"),
              "case 'one': flows[0]: " + models + ": is no field that an engine reads");
  }
  for (const std::string supervisors : {"suite", "name", "labels", "timeout_s", "processes", "environment"}) {
    EXPECT_EQ(complaint("\"cache\"", "\"" + supervisors + "\": 1, \"cache\""),
              "case 'one': " + supervisors + ": is no field that an engine reads");
  }
}

TEST(ParsePlan, ChecksTheSchemaFirst) {
  EXPECT_NE(complaint("\"schema\": 1", "\"schema\": 2").find("schema: is 2, this engine reads 1"),
            std::string::npos);
  EXPECT_NE(complaint("\"schema\": 1,", "").find("not a linkscope plan"), std::string::npos);
}

TEST(ParsePlan, RefusesWhatCannotRun) {
  EXPECT_NE(complaint("\"precision\": 0.02", "\"precision\": 0").find("precision"), std::string::npos);
  EXPECT_NE(complaint("\"max_samples\": 9", "\"max_samples\": 6, \"x\": 1").find("x:"), std::string::npos);
  EXPECT_THROW(static_cast<void>(parse_plan("{")), Error);
  EXPECT_THROW(static_cast<void>(parse_plan("[]")), Error);
}

TEST(ParsePlan, AnIdStandsOnce) {
  const std::string flows = R"("clock":"host","flows":[{"method":"m","executor":"numa:0","bytes":1,)"
                            R"("source":{"device":"numa:0","memory":"huge"}}]})";
  const std::string text =
      R"({"schema":1,"options":{},"cases":[{"id":"a",)" + flows + R"(,{"id":"a",)" + flows + "]}";
  EXPECT_THROW(static_cast<void>(parse_plan(text)), Error);
}

}  // namespace
}  // namespace linkscope
