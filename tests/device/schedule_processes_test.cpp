// Schedules between this test and a second process, which is the same program started again.
#include <cstdlib>
#include <sstream>

#include "other_process.hpp"
#include "schedules.hpp"

namespace linkscope::testing {
namespace {

constexpr const char* socket_variable = "LINKSCOPE_SCHEDULE_TEST_SOCKET";
constexpr int processes = 2;

/// What both processes work on: ranks take turns between them.
class SchedulesInProcesses : public WithSchedules {
 protected:
  [[nodiscard]] Flow shared_flow(const std::string& method, const std::string& kind, int ranks,
                                 const std::string& order) const {
    auto schedule = kind == "halo"        ? small_halo(ranks / 2, 2, 3)
                    : kind == "particles" ? small_particles(ranks, 2)
                                          : ring_pattern(ranks, 3);
    Flow shared = flow(method, std::move(schedule), gpus(), "device", processes);
    if (method == "direct-schedule") shared.parameters.set("order", order);
    return shared;
  }
};

/// The other process. Answers one request after another until its partner is gone.
class ScheduleOtherProcess : public SchedulesInProcesses {
 protected:
  void SetUp() override {
    if (std::getenv(socket_variable) == nullptr)
      GTEST_SKIP() << "the other process of ScheduleProcesses tests";
    SchedulesInProcesses::SetUp();
  }

  std::string answer(const Channel& partner, const std::string& request) {
    std::istringstream words(request);
    std::string what;
    words >> what;
    if (what == "join") return join(partner, words);
    if (what == "drop") {
      joined_.local_parts.reset();
      return "dropped";
    }
    std::uint64_t seed = 0;
    std::uint64_t repeats = 0;
    words >> seed >> repeats;
    return "right" + round(joined_, repeats, seed);
  }

 private:
  std::string join(const Channel& partner, std::istringstream& words) {
    std::string method;
    std::string kind;
    int ranks = 0;
    std::string order;
    words >> method >> kind >> ranks >> order;
    joined_ = {};
    joined_ = assemble(shared_flow(method, kind, ranks, order), 1);
    const std::string offer = "offer" + joined_.local_parts->export_handles();
    const std::string theirs = partner.ask(offer);
    joined_.local_parts->import_handles({theirs.substr(5), offer.substr(5)});
    return "joined";
  }

  AssembledRanks joined_;
};

TEST_F(ScheduleOtherProcess, TakesPart) {
  const Channel partner(std::atoi(std::getenv(socket_variable)));
  serve(partner, [&](const std::string& request) { return answer(partner, request); });
}

class ScheduleProcesses : public SchedulesInProcesses {
 protected:
  /// NCCL refuses two ranks on one GPU of a host, and takes these two processes for two hosts'.
  void SetUp() override {
    setenv("NCCL_IB_DISABLE", "1", 0);
    setenv("NCCL_HOSTID", "linkscope-test-other", 1);
    SchedulesInProcesses::SetUp();
    if (!IsSkipped())
      other_ = std::make_unique<OtherProcess>("ScheduleOtherProcess.TakesPart", socket_variable);
    setenv("NCCL_HOSTID", "linkscope-test-own", 1);
  }
  void TearDown() override {
    unsetenv("NCCL_HOSTID");
    if (other_ != nullptr) {
      EXPECT_EQ(other_->end(), 0) << "how the other process ended";
    }
  }

  void expect_right(const std::string& method, const std::string& kind, int ranks, const std::string& order) {
    const std::string what = method + " " + kind + " " + std::to_string(ranks) + " " + order;
    const std::string offer = other_->channel().ask("join " + what);
    ASSERT_EQ(offer.substr(0, 5), "offer") << what << ": " << offer;
    AssembledRanks own = assemble(shared_flow(method, kind, ranks, order), 0);
    const std::string own_offer = "offer" + own.local_parts->export_handles();
    other_->channel().say(own_offer);
    own.local_parts->import_handles({own_offer.substr(5), offer.substr(5)});
    ASSERT_EQ(other_->channel().hear(), "joined") << what;
    for (const std::uint64_t repeats : {1, 4}) {
      other_->channel().say("run " + std::to_string(++seed_) + " " + std::to_string(repeats));
      EXPECT_EQ(round(own, repeats, seed_), "") << what;
      EXPECT_EQ(other_->channel().hear(), "right") << what;
    }
    EXPECT_EQ(other_->channel().ask("drop"), "dropped");
  }

  std::unique_ptr<OtherProcess> other_;

 private:
  std::uint64_t seed_ = 0;
};

TEST_F(ScheduleProcesses, DirectOnesArriveByMappedMemoryInEitherOrder) {
  for (const char* order : {"device", "host"}) {
    for (const char* kind : {"halo", "particles", "pattern"}) {
      for (const int ranks : {2, 4}) expect_right("direct-schedule", kind, ranks, order);
    }
  }
}

TEST_F(ScheduleProcesses, XcclCarriesThemWithOneRankInEach) {
  if (const Support here = method("xccl-schedule").available(); !here) GTEST_SKIP() << here.reason();
  for (const char* kind : {"halo", "particles", "pattern"}) expect_right("xccl-schedule", kind, 2, "device");
}

TEST_F(ScheduleProcesses, ARankWhoseProcessHasGoneEndsTheWaitOfTheOthers) {
  const std::string what = "direct-schedule halo 2 device";
  const std::string offer = other_->channel().ask("join " + what);
  ASSERT_EQ(offer.substr(0, 5), "offer") << offer;
  AssembledRanks own = assemble(shared_flow("direct-schedule", "halo", 2, "device"), 0);
  const std::string own_offer = "offer" + own.local_parts->export_handles();
  other_->channel().say(own_offer);
  own.local_parts->import_handles({own_offer.substr(5), offer.substr(5)});
  ASSERT_EQ(other_->channel().hear(), "joined");
  EXPECT_EQ(other_->end(), 0);
  arm(own, 1);
  EXPECT_THROW(run(own, 1), Error);
}

}  // namespace
}  // namespace linkscope::testing
