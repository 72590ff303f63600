// From plan to lines: rows for all that can happen to a case.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "fake_backend.hpp"
#include "record_lines.hpp"
#include "run/binding.hpp"
#include "run/executor.hpp"

namespace linkscope {
namespace {

std::string case_text(const std::string& id, const std::string& bytes, const std::string& more = "") {
  return R"({"id":")" + id +
         R"(","clock":"device","flows":[{"method":"memcpy","executor":"numa:0","bytes":)" + bytes +
         R"(,"source":{"device":"numa:0","memory":"pageable"},"destination":{"device":"numa:1","memory":"pageable"})" +
         more + "}]}";
}

struct ExecutorTest : testing::Test {
  FakeParts fakes = fake_backend();
  Health health = Health::sound;

  std::vector<Json> run(const std::vector<std::string>& cases, const std::string& options = "{}") {
    std::string text = R"({"schema":1,"options":)" + options + R"(,"cases":[)";
    for (const std::string& one : cases) text += (text.back() == '[' ? "" : ",") + one;
    Plan plan = parse_plan(text + "]}");
    std::FILE* file = std::tmpfile();
    JsonLines out(fileno(file));
    ProcessGroup group;
    health = Executor(fakes.backend, plan, Environment{}, group, out).run();
    return lines_of(file);
  }
};

TEST_F(ExecutorTest, ARotatedFlowThatRepeatsOneSlotSaysSo) {
  const Json note = "repeats one slot: caches may serve it";
  const auto notes = [&](const std::string& cache) {
    const std::string clock = R"("clock":"device",)";
    std::string text = case_text("a", "1000");
    text.replace(text.find(clock), clock.size(), clock + R"("cache":")" + cache + R"(",)");
    return run({text})[2]["flows"][0].value("notes", Json::array());
  };
  EXPECT_EQ(notes("rotated"), Json::array());
  fakes.method->through = 500;
  EXPECT_EQ(notes("rotated"), Json::array()) << "one slot is more than any cache holds";
  fakes.method->through = 0;
  EXPECT_EQ(notes("rotated"), Json::array({note}));
  EXPECT_EQ(notes("warm"), Json::array()) << "as was asked for";
}

TEST_F(ExecutorTest, SaysHelloStartRowDone) {
  const auto records = run({case_text("a", "1000000")});
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0]["record"], "hello");
  EXPECT_EQ(records[1], (Json{{"record", "start"}, {"id", "a"}}));
  const Json& row = records[2];
  EXPECT_EQ(row["status"], "ok");
  EXPECT_EQ(row["modelled"], false);
  EXPECT_FALSE(row.contains("case")) << "the supervisor has it, labels and all, and puts it into the row";
  EXPECT_NEAR(row["flows"][0]["gbps"]["median"].get<double>(), 100.0, 1e-3);
  EXPECT_EQ(row["verified"]["passes"], 2);
  EXPECT_EQ(records[3], (Json{{"record", "done"}, {"rows", 1}}));
}

TEST_F(ExecutorTest, WhatTheLastCaseRetiredIsFreedBeforeTheNextTakesItsMemory) {
  std::vector<int> allocations;
  fakes.backend.free_retired = [&] { allocations.push_back(fakes.memory->allocations); };
  run({case_text("a", "1000"), case_text("b", "100000")});
  EXPECT_EQ(allocations, (std::vector{0, 2}));
}

TEST_F(ExecutorTest, UnsupportedIsSkippedInOneLine) {
  const auto records = run({case_text("a", "13"), case_text("b", "1000")});
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_EQ(records[2]["reason"], "thirteen bytes bring bad luck");
  EXPECT_EQ(records[4]["status"], "ok") << "the run goes on";
}

TEST_F(ExecutorTest, WhatTheChosenRowCannotRunHereIsSkippedWithItsReason) {
  Method of_gpus = fake_row();
  of_gpus.available = [] { return Support::no("no driver"); };
  fakes.backend.methods = {of_one_name(fake_row(), of_gpus)};
  fakes.backend.devices.push_back(DeviceFacts{DeviceId{DeviceKind::gpu, 0}, "GPU", 0, "", 0, {}, {}});
  std::string on_gpu = case_text("a", "1000");
  on_gpu.replace(on_gpu.find("numa:0"), 6, "gpu:0");
  const auto records = run({on_gpu, case_text("b", "1000")});
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_EQ(records[2]["reason"], "memcpy: no driver");
  EXPECT_EQ(records[4]["status"], "ok") << "CPUs have it";
}

TEST_F(ExecutorTest, CollectivesAtOnceAreSkippedWhereNoneHasACommunicatorOfItsOwn) {
  const std::string flow =
      R"({"method":"memcpy","executor":"numa:0","bytes":64,"members":[{"device":"numa:0","memory":"pageable"}]})";
  const auto records = run({R"({"id":"a","clock":"device","flows":[)" + flow + "," + flow + "]}"});
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_NE(records[2]["reason"].get<std::string>().find("communicator"), std::string::npos) << records[2];
}

TEST_F(ExecutorTest, CollectivesAtOnceRunBesideAFlowWithoutMembers) {
  Method collective = fake_row();
  collective.spec = {"collective", "fake", Quantity::bandwidth, {.by_xccl = true}};
  collective.footprint = [](const Flow&) { return Bytes{0}; };
  collective.prepare = [](const Flow&, const Arenas&) { return std::make_unique<FakeTransfer>(10e-6); };
  fakes.backend.methods.push_back(collective);
  const std::string flow =
      R"({"method":"collective","executor":"numa:0","bytes":64,"members":[{"device":"numa:0","memory":"pageable"}]},)";
  std::string text = case_text("a", "1000");
  text.insert(text.find(R"({"method")"), flow + flow);
  const auto records = run({text});
  EXPECT_EQ(records[2]["status"], "ok") << records[2];
}

TEST_F(ExecutorTest, WhatAMemoryDoesNotAllowIsSkipped) {
  fakes.memory->objection = "not with these parameters";
  const auto records = run({case_text("a", "1000")});
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_EQ(records[2]["reason"], "not with these parameters");
}

TEST_F(ExecutorTest, AMissingDeviceIsSkipped) {
  const auto records =
      run({R"({"id":"a","clock":"device","flows":[{"method":"memcpy","executor":"gpu:0","bytes":1,)"
           R"("source":{"device":"numa:0","memory":"pageable"}}]})"});
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_EQ(records[2]["reason"], "there is no gpu:0 here");
}

TEST_F(ExecutorTest, TooLittleMemoryIsSkipped) {
  const auto records = run({case_text("a", "100000000")}, R"({"memory_limit_bytes":1000000})");
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_NE(records[2]["reason"].get<std::string>().find("limit"), std::string::npos);
}

TEST_F(ExecutorTest, WrongDataFailsTheRow) {
  const auto records =
      run({case_text("a", "1000", R"(,"parameters":{"wrong_in_round":2})"), case_text("b", "1000")});
  EXPECT_EQ(records[2]["status"], "failed");
  EXPECT_EQ(records[2]["reason"], "byte 64 of 1024 arrived wrong [wrong-data]");
  EXPECT_EQ(records[4]["status"], "ok");
}

TEST_F(ExecutorTest, AFatalFaultEndsTheRunAfterItsRow) {
  fakes.gate->fault = Fault::fatal;
  const auto records = run({case_text("a", "1000"), case_text("b", "1000")});
  EXPECT_EQ(health, Health::lost);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[2]["status"], "failed");
}

TEST_F(ExecutorTest, UnknownNamesStopThePlanBeforeItBegins) {
  const std::string good = case_text("a", "1000");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"memcpy", "memcopy"},
           {"pageable", "pagable"},
           {R"("bytes":1000)", R"("bytes":1,"parameters":{"thread":1})"}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    bad.replace(bad.find("\"a\""), 3, "\"b\"");
    try {
      run({good, bad});
      FAIL() << to;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input);
      EXPECT_NE(std::string(error.what()).find("case 'b': flows[0]"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(fakes.gate->runs, 0);
}

TEST_F(ExecutorTest, AValueThatNoTableHasIsAnErrorOfThePlanWithItsPlace) {
  for (const auto& [given, names] :
       std::map<std::string, std::string>{{R"("shapes":10)", "parameters.shapes"},
                                          {R"("threads":"two")", "parameters.threads"},
                                          {R"("x":1)", "parameters.x"}}) {
    try {
      run({case_text("a", "1000"), case_text("b", "1000", R"(,"parameters":{)" + given + "}")});
      FAIL() << given;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input);
      EXPECT_EQ(std::string(error.what()).find("case 'b': flows[0]: " + names + ": "), 0U) << error.what();
    }
  }
}

TEST_F(ExecutorTest, RotatedArenasHoldMoreThanTheCache) {
  run({case_text("a", "1008")});
  const Rotation& rotation = fakes.method->last.rotation;
  EXPECT_EQ(rotation.stride, 1008U) << "slots of whole vectors touch, so that one pass checks them all";
  EXPECT_EQ(rotation.slots, 10U) << "10000 bytes, as the method says";
  EXPECT_GE(fakes.method->last_source_bytes, rotation.stride * rotation.slots);
  EXPECT_NE(fakes.method->last.source, fakes.method->last.destination);
}

TEST_F(ExecutorTest, NoSlotStartsInsideAVector) {
  for (const auto& [bytes, stride] : std::vector<std::pair<std::string, Bytes>>{
           {"1", 8}, {"8", 8}, {"16", 16}, {"24", 32}, {"4099", 4112}}) {
    run({case_text("a", bytes)});
    EXPECT_EQ(fakes.method->last.rotation.stride, stride) << bytes;
  }
}

TEST_F(ExecutorTest, MoreBytesThanAnyMachineHasAreSkipped) {
  const auto records = run({case_text("a", "18446744073709551615"), case_text("b", "1000")});
  EXPECT_EQ(records[2]["status"], "skipped");
  EXPECT_NE(records[2]["reason"].get<std::string>().find("more than any machine"), std::string::npos);
  EXPECT_EQ(records[4]["status"], "ok");
}

TEST_F(ExecutorTest, AnExceptionOfALibraryFailsItsRowAlone) {
  fakes.method->failure = "a library gave up";
  const auto records = run({case_text("a", "1000"), case_text("b", "1000")});
  ASSERT_EQ(records.size(), 6U);
  EXPECT_EQ(records[2]["status"], "failed");
  EXPECT_EQ(records[2]["reason"], "a library gave up");
  EXPECT_EQ(records[5]["record"], "done");
}

TEST_F(ExecutorTest, BuffersAreAllocatedOnceForManyCases) {
  run({case_text("a", "1000000"), case_text("b", "1000000"), case_text("c", "900000")});
  EXPECT_EQ(fakes.memory->allocations, 2);
}

}  // namespace
}  // namespace linkscope
