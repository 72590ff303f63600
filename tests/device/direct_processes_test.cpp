// direct-collective between this test and a second process, which is the same program started again.
#include <fcntl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>

#include "channel.hpp"
#include "connected_collective.hpp"

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
    return "right" + round(joined_, repeats, Clock::device, seed);
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
    const std::string offer = joined_.ensemble->offer();
    joined_.ensemble->connect({partner.ask(offer), offer});
    return "joined";
  }

  Assembled joined_;
};

TEST_F(DirectOtherProcess, TakesPart) {
  const Channel partner(std::atoi(std::getenv(socket_variable)));
  for (std::string request = partner.hear(); !request.empty(); request = partner.hear()) {
    try {
      partner.say(answer(partner, request));
    } catch (const std::exception& error) {
      partner.say(std::string("failed: ") + error.what());
    }
  }
}

class DirectProcesses : public DirectInProcesses {
 protected:
  void SetUp() override {
    DirectInProcesses::SetUp();
    if (IsSkipped()) return;
    if (backend_->devices.size() < 2)
      GTEST_SKIP() << "two processes on one GPU take turns: their kernels never meet";
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ASSERT_EQ(fcntl(ends[1], F_SETFD, 0), 0);
    setenv(socket_variable, std::to_string(ends[1]).c_str(), 1);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      execl("/proc/self/exe", "linkscope-gpu-tests", "--gtest_filter=DirectOtherProcess.TakesPart", nullptr);
      _exit(127);
    }
    unsetenv(socket_variable);
    close(ends[1]);
    other_ = std::make_unique<Channel>(ends[0]);
  }
  void TearDown() override {
    if (child_ <= 0) return;
    other_.reset();  // it leaves when its partner is gone
    int status = 0;
    ASSERT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the other process ended with " << status;
  }

  /// This process's members of a collective that the other one has joined.
  [[nodiscard]] Assembled joined(const std::string& kind, Bytes bytes, const Words& words) const {
    std::ostringstream request;
    request << "join " << kind << " " << bytes;
    for (const auto& [name, value] : words) request << " " << name << " " << value;
    const std::string offer = other_->ask(request.str());
    if (offer.rfind("failed", 0) == 0) throw Error(Fault::broken, offer);
    Assembled own = assemble(shared_flow(kind, bytes, words), 0);
    const std::string own_offer = own.ensemble->offer();
    const std::string answer = other_->ask(own_offer);
    if (answer != "joined") throw Error(Fault::broken, answer);
    own.ensemble->connect({own_offer, offer});
    return own;
  }
  void expect_right(const Assembled& own, std::uint64_t repeats, const std::string& what) {
    other_->say("run " + std::to_string(++seed_) + " " + std::to_string(repeats));
    EXPECT_EQ(round(own, repeats, Clock::device, seed_), "") << what;
    EXPECT_EQ(other_->hear(), "right") << what;
  }

 private:
  pid_t child_ = 0;
  std::uint64_t seed_ = 0;

 protected:
  std::unique_ptr<Channel> other_;
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
    words.insert(
        {{"type", "int32"}, {"trial", "yes"}, {"form", "in-kernel"}, {"blocks", "3"}, {"threads", "96"}});
    const Assembled own = joined(kind, 960 * 20, words);
    expect_right(own, 20'000, kind + " " + words["algorithm"]);
  });
}

}  // namespace
}  // namespace linkscope::testing
