// direct-collective between this test and a second process, which is the same program started again.
#include <cstdlib>
#include <sstream>

#include "connected_collective.hpp"
#include "other_process.hpp"

namespace linkscope::testing {
namespace {

constexpr const char* socket_variable = "LINKSCOPE_DIRECT_TEST_SOCKET";
constexpr int processes = 2;

/// What both processes work on: members take turns between them.
class DirectInProcesses : public DirectCollective {
 protected:
  [[nodiscard]] Flow shared_flow(const std::string& kind, Bytes bytes, const Words& words) const {
    Flow shared = flow(kind, bytes, words);
    for (std::size_t i = 0; i < shared.members.size(); ++i)
      shared.members[i].rank = static_cast<int>(i) % processes;
    return shared;
  }
};

/// The other process. Answers one request after another until its partner is gone.
class DirectOtherProcess : public DirectInProcesses {
 protected:
  void SetUp() override {
    if (std::getenv(socket_variable) == nullptr) GTEST_SKIP() << "the other process of DirectProcesses tests";
    DirectInProcesses::SetUp();
  }

  std::string answer(const Channel& partner, const std::string& request) {
    std::istringstream words(request);
    std::string what;
    words >> what;
    if (what == "join") return join(partner, words);
    std::uint64_t seed = 0;
    std::uint64_t repeats = 0;
    words >> seed >> repeats;
    const std::string wrong = round(joined_, repeats, Clock::device, seed);
    if (!wrong.empty()) return wrong;
    return joined_.self_checks && direct::checked_elements().checked == 0 ? "unchecked" : "right";
  }

 private:
  std::string join(const Channel& partner, std::istringstream& words) {
    std::string kind;
    Bytes bytes = 0;
    Words parameters;
    std::string name;
    std::string value;
    words >> kind >> bytes;
    while (words >> name >> value) parameters[name] = value;
    joined_ = {};
    joined_ = assemble(shared_flow(kind, bytes, parameters), 1);
    const std::string offer = joined_.local_parts->export_handles();
    joined_.local_parts->import_handles({partner.ask(offer), offer});
    return "joined";
  }

  Assembled joined_;
};

TEST_F(DirectOtherProcess, TakesPart) {
  const Channel partner(std::atoi(std::getenv(socket_variable)));
  serve(partner, [&](const std::string& request) { return answer(partner, request); });
}

class DirectProcesses : public DirectInProcesses {
 protected:
  void SetUp() override {
    DirectInProcesses::SetUp();
    if (IsSkipped()) return;
    if (backend_->devices.size() < 2)
      GTEST_SKIP() << "two processes on one GPU take turns: their kernels never meet";
    other_ = std::make_unique<OtherProcess>("DirectOtherProcess.TakesPart", socket_variable);
  }
  void TearDown() override {
    if (other_ != nullptr) {
      EXPECT_EQ(other_->end(), 0) << "how the other process ended";
    }
  }

  /// This process's members of a collective that the other one has joined.
  [[nodiscard]] Assembled joined(const std::string& kind, Bytes bytes, const Words& words) const {
    std::ostringstream request;
    request << "join " << kind << " " << bytes;
    for (const auto& [name, value] : words) request << " " << name << " " << value;
    const std::string offer = other_->channel().ask(request.str());
    if (offer.rfind("failed", 0) == 0) throw Error(Fault::broken, offer);
    Assembled own = assemble(shared_flow(kind, bytes, words), 0);
    const std::string own_offer = own.local_parts->export_handles();
    const std::string answer = other_->channel().ask(own_offer);
    if (answer != "joined") throw Error(Fault::broken, answer);
    own.local_parts->import_handles({own_offer, offer});
    return own;
  }
  void expect_right(const Assembled& own, std::uint64_t repeats, const std::string& what) {
    other_->channel().say("run " + std::to_string(++seed_) + " " + std::to_string(repeats));
    EXPECT_EQ(round(own, repeats, Clock::device, seed_), "") << what;
    const bool unchecked = own.self_checks && direct::checked_elements().checked == 0;
    const std::string answer = other_->channel().hear();
    EXPECT_TRUE(answer == "right" || (answer == "unchecked" && !unchecked)) << what << ": " << answer;
  }

 private:
  std::uint64_t seed_ = 0;

 protected:
  std::unique_ptr<OtherProcess> other_;
};

TEST_F(DirectProcesses, EveryAlgorithmIsExactAcrossThem) {
  each_algorithm([&](const std::string& kind, Words words) {
    for (const Bytes bytes : {960 * 4, 960 * 400}) {
      const Assembled own = joined(kind, bytes, words);
      expect_right(own, 3, kind + " " + words["algorithm"]);
    }
  });
}

TEST_F(DirectProcesses, CallsInOneKernelStayInStepAcrossThem) {
  each_algorithm([&](const std::string& kind, Words words) {
    if (kind == "barrier") return;
    words.insert({{"type", "int32"},
                  {"self_check", "yes"},
                  {"form", "in-kernel"},
                  {"blocks", "4"},
                  {"threads", "96"},
                  {"chunk", "256"}});
    const Assembled own = joined(kind, 960 * 20, words);
    expect_right(own, 8'000, kind + " " + words["algorithm"]);
  });
}

TEST_F(DirectProcesses, AMillionCallsInOneKernelAcrossThemAndManyWithLateMembers) {
  for (const char* algorithm : {"one-shot-ll", "two-shot-push", "ring"}) {
    Words words{{"type", "int32"},        {"self_check", "yes"}, {"form", "in-kernel"},
                {"algorithm", algorithm}, {"blocks", "2"},       {"threads", "64"}};
    expect_right(joined("all-reduce", 1024, words), 1'000'000, algorithm);
    words["jitter_ns"] = "2000";
    expect_right(joined("all-reduce", 1024, words), 20'000, std::string(algorithm) + ", members are late");
  }
}

}  // namespace
}  // namespace linkscope::testing
