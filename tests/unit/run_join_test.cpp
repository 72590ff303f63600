// join: processes (here: threads) that a supervisor starts, over real connections, from hello to done.
#include "run/join.hpp"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "bootstrap_group.hpp"
#include "fake_backend.hpp"

namespace linkscope {
namespace {

Json end_of(int rank) { return {{"device", "numa:0"}, {"memory", "pageable"}, {"rank", rank}}; }

Json flow_of(int rank) {
  return {{"method", "memcpy"}, {"executor", "numa:0"},   {"rank", rank},
          {"bytes", 1000},      {"source", end_of(rank)}, {"destination", end_of(rank)}};
}

/// One case with a flow in each of `ranks` processes.
Json plan_for(int ranks) {
  Json flows = Json::array();
  for (int rank = 0; rank < ranks; ++rank) flows.push_back(flow_of(rank));
  Json one{{"id", "a"}, {"clock", "device"}, {"flows", flows}};
  return {{"schema", 1}, {"options", Json::object()}, {"cases", Json::array({one})}};
}

/// The supervisor's end of one connection.
class Line {
 public:
  explicit Line(Socket socket) : socket_(std::move(socket)) {}

  void say(const std::string& text) {
    EXPECT_EQ(socket_.send(text, "\n", deadline_in(long_enough)), Outcome::done);
  }
  /// The next record; none where the process has closed the connection.
  std::optional<Json> hear() {
    for (;;) {
      const auto end = pending_.find('\n');
      if (end != std::string::npos) {
        Json record = Json::parse(pending_.substr(0, end));
        pending_.erase(0, end + 1);
        return record;
      }
      const Outcome outcome = socket_.receive(pending_);
      if (outcome == Outcome::closed) return std::nullopt;
      if (outcome == Outcome::late) wait_for_any({socket_.descriptor()}, deadline_in(long_enough));
    }
  }
  std::vector<Json> rest() {
    std::vector<Json> records;
    while (auto record = hear()) records.push_back(*std::move(record));
    return records;
  }

 private:
  Socket socket_;
  std::string pending_;
};

struct JoinTest : testing::Test {
  Listener listener{"127.0.0.1"};
  std::map<int, Line> lines;   ///< by rank
  std::map<int, Json> hellos;  ///< by rank
  std::map<int, std::string> errors;
  std::map<int, Fault> faults;
  std::vector<std::thread> processes;

  ~JoinTest() override {
    lines.clear();
    for (std::thread& process : processes) process.join();
  }

  void start(int rank, EngineFactory factory) {
    Environment environment;
    environment.control = "127.0.0.1:" + std::to_string(listener.port());
    environment.token = "sesame";
    environment.rank = rank;
    std::string* error = &errors[rank];
    Fault* fault = &faults[rank];
    processes.emplace_back([=, shop = std::move(factory)] {
      try {
        join(environment, shop);
      } catch (const Error& caught) {
        *error = caught.what();
        *fault = caught.fault();
      }
    });
    wait_for_any({listener.descriptor()}, deadline_in(long_enough));
    auto socket = listener.accept();
    ASSERT_TRUE(socket);
    Line line(*std::move(socket));
    hellos[rank] = line.hear().value();
    lines.emplace(rank, std::move(line));
  }

  static EngineFactory fakes() {
    return {"host", [](const Plan&, const python::GroupPlace&) { return fake_backend().backend; },
            [](const std::string&) {}};
  }

  /// The supervisor's word, with changes.
  std::string word(int rank, int size, const Json& changes = Json::object()) {
    Json word{{"plan", plan_for(size)},
              {"rank", rank},
              {"size", size},
              {"root", "127.0.0.1:" + hellos.at(0)["root_port"].dump()},
              {"limit_s", long_enough}};
    word.update(changes);
    return word.dump();
  }

  void end_all() {
    for (std::thread& process : processes) process.join();
    processes.clear();
  }
};

TEST_F(JoinTest, IntroducesItself) {
  start(0, fakes());
  start(1, fakes());
  EXPECT_EQ(hellos[0]["record"], "hello");
  EXPECT_EQ(hellos[0]["token"], "sesame");
  EXPECT_EQ(hellos[0]["backend"], "host");
  EXPECT_GT(hellos[0]["root_port"].get<int>(), 0);
  EXPECT_EQ(hellos[1]["rank"], 1);
  EXPECT_FALSE(hellos[1].contains("root_port"));
  EXPECT_EQ(hellos[1]["cpus"].size(), std::thread::hardware_concurrency());
}

TEST_F(JoinTest, OnePlanOneRow) {
  for (int rank = 0; rank < 3; ++rank) start(rank, fakes());
  for (int rank = 0; rank < 3; ++rank) lines.at(rank).say(word(rank, 3));
  const std::vector<Json> first = lines.at(0).rest();
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first[0]["record"], "hello");
  EXPECT_EQ(first[1]["record"], "start");
  EXPECT_EQ(first[2]["status"], "ok");
  EXPECT_EQ(first[2]["flows"].size(), 3U);
  EXPECT_TRUE(first[2].contains("aggregate"));
  EXPECT_EQ(first[3]["record"], "done");
  for (int rank = 1; rank < 3; ++rank) {
    const std::vector<Json> other = lines.at(rank).rest();
    ASSERT_EQ(other.size(), 4U);
    EXPECT_EQ(other[2], (Json{{"record", "end"}, {"id", "a"}}));
    EXPECT_EQ(other[3]["record"], "done");
  }
  end_all();
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(errors[rank], "");
}

TEST_F(JoinTest, OneProcessNeedsNoOther) {
  start(0, fakes());
  lines.at(0).say(word(0, 1, {{"root", ""}}));
  EXPECT_EQ(lines.at(0).rest().back()["record"], "done");
}

TEST_F(JoinTest, AnotherPlanIsEverybodysRefusal) {
  for (int rank = 0; rank < 3; ++rank) start(rank, fakes());
  for (int rank = 0; rank < 3; ++rank)
    lines.at(rank).say(word(rank, 3, rank == 1 ? Json{{"plan", plan_for(1)}} : Json::object()));
  for (int rank = 0; rank < 3; ++rank) {
    const Json last = lines.at(rank).rest().back();
    EXPECT_EQ(last["record"], "error");
    EXPECT_EQ(last["fault"], "bad-input");
    EXPECT_EQ(last["reason"].get<std::string>().find("rank 1 (host "), 0U) << last;
    EXPECT_NE(last["reason"].get<std::string>().find(" has plan "), std::string::npos) << last;
    EXPECT_EQ(last["causes"],
              Json::array({{{"how", "disagrees"}, {"ranks", {1}}, {"words", last["reason"]}}}));
  }
  end_all();
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(faults[rank], Fault::bad_input);
}

TEST_F(JoinTest, ABackendThatCannotOpenIsEverybodysError) {
  EngineFactory broken = fakes();
  broken.open = [](const Plan&, const python::GroupPlace&) -> Backend {
    throw Error(Fault::broken, "no driver");
  };
  start(0, fakes());
  start(1, broken);
  for (int rank = 0; rank < 2; ++rank) lines.at(rank).say(word(rank, 2));
  for (int rank = 0; rank < 2; ++rank) {
    const Json last = lines.at(rank).rest().back();
    EXPECT_EQ(last["fault"], "lost");
    EXPECT_NE(last["reason"].get<std::string>().find("rank 1 (host "), std::string::npos);
    EXPECT_NE(last["reason"].get<std::string>().find("no driver"), std::string::npos);
    EXPECT_EQ(last["causes"], Json::array({{{"how", "failed"}, {"ranks", {1}}, {"words", last["reason"]}}}));
  }
}

TEST_F(JoinTest, TheSupervisorHearsOfAFailureBeforeTheOthersAreWaitedFor) {
  EngineFactory broken = fakes();
  broken.open = [](const Plan&, const python::GroupPlace&) -> Backend {
    throw Error(Fault::broken, "no\ndriver");
  };
  std::promise<void> heard;
  EngineFactory held_up = fakes();
  held_up.open = [&](const Plan&, const python::GroupPlace&) {
    heard.get_future().wait();
    return fake_backend().backend;
  };
  start(0, held_up);
  start(1, broken);
  for (int rank = 0; rank < 2; ++rank) lines.at(rank).say(word(rank, 2));
  EXPECT_EQ(lines.at(1).hear(), (Json{{"record", "failure"}, {"reason", "no driver"}}));
  heard.set_value();
  EXPECT_EQ(lines.at(1).rest().back()["record"], "error");
}

TEST_F(JoinTest, LeavesWhereTheSupervisorGivesNoPlan) {
  start(0, fakes());
  lines.clear();
  end_all();
  EXPECT_EQ(faults[0], Fault::bad_input);
  EXPECT_NE(errors[0].find("is LINKSCOPE_TOKEN that of its run?"), std::string::npos);
}

TEST_F(JoinTest, SaysWhatIsWrongWithTheSupervisorsWord) {
  const std::map<std::string, Json> wrong{
      {"takes rank 0 for rank 1", {{"rank", 1}}},
      {"limit_s: must be more than 0", {{"limit_s", 0}}},
      {"plan", {{"plan", "none"}}},
      {"size", {{"size", 0}}},
      {"speed", {{"speed", 1}}},
  };
  for (const auto& [complaint, change] : wrong) {
    start(0, fakes());
    lines.at(0).say(word(0, 1, change));
    const Json last = lines.at(0).rest().back();
    EXPECT_EQ(last["record"], "error");
    EXPECT_NE(last["reason"].get<std::string>().find(complaint), std::string::npos) << last;
    EXPECT_FALSE(last.contains("causes")) << "it is its own";
    lines.clear();
    end_all();
    EXPECT_EQ(faults[0], Fault::bad_input);
  }
}

TEST(JoinAloneTest, NamesTheMissingVariable) {
  const EngineFactory none;
  Environment environment;
  for (const char* missing : {"LINKSCOPE_CONTROL", "LINKSCOPE_RANK"}) {
    try {
      join(environment, none);
      FAIL() << missing;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::bad_input);
      EXPECT_NE(std::string(error.what()).find(missing), std::string::npos) << error.what();
    }
    environment.control = "127.0.0.1:1";
  }
}

}  // namespace
}  // namespace linkscope
