// Lanes of two backends in one case.
#include <gtest/gtest.h>

#include "fakes.hpp"
#include "run/composite_gate.hpp"

namespace linkscope {
namespace {

/// Takes only transfers of stated duration, so that lanes divide.
class PickyGate : public FakeGate {
 public:
  PickyGate(Seconds wanted, std::vector<std::string>& log, std::string name)
      : wanted_(wanted), log_(log), name_(std::move(name)) {}
  [[nodiscard]] Support accepts(const Transfer& transfer) const override {
    return dynamic_cast<const FakeTransfer&>(transfer).time() == wanted_ ? Support::yes()
                                                                         : Support::no("not mine");
  }
  void hold(const std::vector<Lane>& lanes, Clock clock) override {
    log_.push_back(name_ + " hold " + std::to_string(lanes.size()));
    if (refuses) throw Error(Fault::broken, "cannot hold");
    FakeGate::hold(lanes, clock);
  }
  void open() override {
    log_.push_back(name_ + " open");
    FakeGate::open();
  }
  std::vector<Span> collect() override {
    log_.push_back(name_ + " collect");
    return FakeGate::collect();
  }
  [[nodiscard]] std::vector<Seconds> clock_errors() const override { return errors; }
  bool refuses = false;
  std::vector<Seconds> errors;

 private:
  Seconds wanted_;
  std::vector<std::string>& log_;
  std::string name_;
};

struct JointGateTest : testing::Test {
  JointGateTest() {
    auto first = std::make_unique<PickyGate>(1.0, log, "a");
    auto second = std::make_unique<PickyGate>(2.0, log, "b");
    a = first.get();
    b = second.get();
    std::vector<std::unique_ptr<Gate>> gates;
    gates.push_back(std::move(first));
    gates.push_back(std::move(second));
    joint = std::make_unique<CompositeGate>(std::move(gates));
  }
  std::vector<std::string> log;
  PickyGate* a = nullptr;
  PickyGate* b = nullptr;
  std::unique_ptr<CompositeGate> joint;
  FakeTransfer one{1.0};
  FakeTransfer two{2.0};
  FakeTransfer three{3.0};
};

TEST_F(JointGateTest, HoldsAllBeforeItOpensAnyAndKeepsTheOrder) {
  const auto spans = joint->run({{&two, 1}, {&one, 1}, {&two, 3}}, Clock::device);
  EXPECT_EQ(log,
            (std::vector<std::string>{"a hold 1", "b hold 2", "a open", "b open", "a collect", "b collect"}));
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_DOUBLE_EQ(spans[0].length(), 2.0);
  EXPECT_DOUBLE_EQ(spans[1].length(), 1.0);
  EXPECT_DOUBLE_EQ(spans[2].length(), 6.0);
}

TEST_F(JointGateTest, CountsOfASpanWhatItsTransferSays) {
  two.counted_share = 0.25;
  const auto spans = joint->run({{&two, 1}, {&one, 1}}, Clock::device);
  EXPECT_DOUBLE_EQ(spans[0].length(), 0.5);
  EXPECT_DOUBLE_EQ(spans[1].length(), 1.0);
}

TEST_F(JointGateTest, LeavesIdleGatesAlone) {
  static_cast<void>(joint->run({{&two, 1}}, Clock::device));
  EXPECT_EQ(log, (std::vector<std::string>{"b hold 1", "b open", "b collect"}));
}

TEST_F(JointGateTest, ReleasesWhatIsHeldWhenAnotherCannotHold) {
  b->refuses = true;
  EXPECT_THROW(joint->hold({{&two, 1}, {&one, 1}}, Clock::device), Error);
  EXPECT_EQ(log, (std::vector<std::string>{"a hold 1", "b hold 1", "a open", "a collect"}));
}

TEST_F(JointGateTest, CollectsEveryGateBeforeAnErrorGoesOn) {
  a->fault = Fault::broken;
  EXPECT_THROW(static_cast<void>(joint->run({{&one, 1}, {&two, 1}}, Clock::device)), Error);
  EXPECT_EQ(log.back(), "b collect");
}

TEST_F(JointGateTest, AcceptsWhatAnyGateAccepts) {
  EXPECT_TRUE(joint->accepts(two));
  EXPECT_FALSE(joint->accepts(three));
  a->finest = 1e-6;
  b->finest = 5e-4;
  EXPECT_DOUBLE_EQ(joint->resolution(Clock::device), 5e-4);
}

TEST_F(JointGateTest, AddsTheTwoWorstErrorsOfAllItsClocks) {
  EXPECT_EQ(joint->timeline_uncertainty(), 0);
  a->errors = {3e-6};
  EXPECT_EQ(joint->timeline_uncertainty(), 3e-6);  // against the host's own clock
  b->errors = {1e-6, 2e-6};
  EXPECT_EQ(joint->clock_errors().size(), 3U);
  EXPECT_DOUBLE_EQ(joint->timeline_uncertainty(), 5e-6);
}

}  // namespace
}  // namespace linkscope
