// direct-collective on this machine's GPUs: exact results, kernels in step at any pace, and what becomes of a lost member.
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "backend/gpu/check.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor.hpp"
#include "collective/launch_choice.hpp"
#include "connected_collective.hpp"

namespace linkscope::testing {
namespace {

TEST_F(DirectCollective, EveryKindTypeAlgorithmAndLengthIsExact) {
  std::set<std::string> ran;
  each_algorithm([&](const std::string& kind, Words words) {
    for (const char* type : {"float32", "float16", "bfloat16", "int32"}) {
      for (const char* in_place : {"no", "yes"}) {
        const auto n = static_cast<Bytes>(members());
        // One element each, odd numbers of them, less and more than one packet, lines, tiles.
        for (const Bytes bytes : {4 * n, 36 * n, 1024 * n, 12 * 1001 * n, 48 * 4001 * n}) {
          words["type"] = type;
          words["in_place"] = in_place;
          const std::string what = outcome(flow(kind, bytes, words), 3, Clock::device);
          if (what.rfind("refused", 0) != 0) ran.insert(kind + " " + words["algorithm"] + " " + in_place);
          if (what.rfind("refused", 0) == 0) continue;
          EXPECT_EQ(what, "") << kind << " " << words["algorithm"] << " " << type << " " << bytes
                              << " B, in place: " << in_place;
        }
      }
    }
  });
  EXPECT_TRUE(ran.contains("all-reduce one-shot-ll yes"));
  EXPECT_TRUE(ran.contains("all-reduce two-shot yes"));
  EXPECT_TRUE(ran.contains("all-to-all one-shot no"));
  EXPECT_TRUE(ran.contains("barrier one-shot no"));
}

TEST_F(DirectCollective, EveryGridThatIsOfferedIsExact) {
  for (const char* kind : {"all-reduce", "all-gather", "broadcast"}) {
    for (const Bytes bytes : {4 * KiB, 192 * KiB, 6 * MiB}) {
      const Assembled assembled = assemble(flow(kind, bytes, {}));
      const auto all = assembled.ensemble->transfers();
      const std::vector<Setting> candidates = all.front()->candidates();
      ASSERT_GE(candidates.size(), 2U);
      for (Transfer* member : all) EXPECT_EQ(member->candidates(), candidates);
      std::uint64_t seed = 50;
      for (const Setting& setting : candidates) {
        for (Transfer* member : all) member->use(setting);
        EXPECT_EQ(round(assembled, 2, Clock::device, ++seed), "")
            << kind << " " << bytes << " B, algorithm " << setting[0].second << ", " << setting[1].second
            << " blocks of " << setting[2].second;
      }
    }
  }
}

// Numbers differ from call to call: nothing left from an earlier call passes for this one's.
TEST_F(DirectCollective, CallsInOneKernelStayInStepHoweverLateMembersAre) {
  each_algorithm([&](const std::string& kind, Words words) {
    if (kind == "barrier") return;  // has no numbers
    words.insert({{"type", "int32"}, {"trial", "yes"}, {"form", "in-kernel"}});
    for (const char* blocks : {"1", "5"}) {
      words["blocks"] = blocks;
      words["threads"] = "96";
      words["jitter_ns"] = "0";
      EXPECT_EQ(outcome(flow(kind, 5 * 960 * 4, words), 20'000, Clock::device), "")
          << kind << " " << words["algorithm"] << " in " << blocks << " blocks";
      words["jitter_ns"] = "20000";
      EXPECT_EQ(outcome(flow(kind, 5 * 960 * 4, words), 500, Clock::device), "")
          << kind << " " << words["algorithm"] << " in " << blocks << " blocks, dawdling";
    }
  });
}

TEST_F(DirectCollective, AMillionCallsInOneKernel) {
  for (const char* algorithm : {"one-shot-ll", "two-shot-ll"}) {
    const Words words{{"type", "int32"},        {"trial", "yes"}, {"form", "in-kernel"},
                      {"algorithm", algorithm}, {"blocks", "2"},  {"threads", "64"}};
    EXPECT_EQ(outcome(flow("all-reduce", 1024, words), 1'000'000, Clock::device), "") << algorithm;
  }
}

TEST_F(DirectCollective, GraphsCountOnFromLaunchToLaunch) {
  each_algorithm([&](const std::string& kind, Words words) {
    words["form"] = "graph";
    words["recorded"] = "3";
    if (kind != "barrier") words.insert({{"type", "int32"}, {"trial", "yes"}});
    EXPECT_EQ(outcome(flow(kind, 960 * 4, words), 7, Clock::device), "") << kind << " " << words["algorithm"];
  });
}

// A thread for each member, which launches when it likes.
TEST_F(DirectCollective, MembersThatLaunchAtTimesOfTheirOwn) {
  each_algorithm([&](const std::string& kind, Words words) {
    if (kind != "barrier") words.insert({{"type", "int32"}, {"trial", "yes"}});
    const Assembled assembled = assemble(flow(kind, 960 * 4, words));
    const auto all = assembled.ensemble->transfers();
    for (Transfer* member : all) member->arm(1);
    std::vector<gpuStream_t> streams(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      LINKSCOPE_CHECK(gpuSetDevice(dynamic_cast<gpu::GpuTransfer&>(*all[i]).device()));
      LINKSCOPE_CHECK(gpuStreamCreateWithFlags(&streams[i], gpuStreamNonBlocking));
    }
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < all.size(); ++i) {
      threads.emplace_back([&transfer = dynamic_cast<gpu::GpuTransfer&>(*all[i]), stream = streams[i], i] {
        std::minstd_rand random(static_cast<unsigned>(i) + 1);
        LINKSCOPE_CHECK(gpuSetDevice(transfer.device()));
        for (int launch = 0; launch < 40; ++launch) {
          const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 300);
          while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
          transfer.enqueue(stream, 1);
        }
        LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (gpuStream_t stream : streams) LINKSCOPE_CHECK(gpuStreamDestroy(stream));
    for (const Transfer* member : all) {
      const auto mismatch = member->verify(1);
      EXPECT_FALSE(mismatch) << kind << " " << words["algorithm"] << ": " << mismatch->what;
    }
  });
}

TEST_F(DirectCollective, AMemberThatDoesNotComeIsNamedAndNobodyWaitsForEver) {
  each_algorithm([&](const std::string& kind, Words words) {
    words["patience_ms"] = "40";
    const Assembled assembled = assemble(flow(kind, 960 * 4, words));
    std::vector<Lane> lanes = assembled.lanes(5);
    lanes.pop_back();
    const std::string lost = "member " + std::to_string(members() - 1) + " (gpu:";
    for (int start = 0; start < 2; ++start) {  // the second finds that all have given up
      static_cast<void>(gate().run(lanes, Clock::device));
      for (const Lane& lane : lanes) {
        const auto mismatch = lane.transfer->verify(1);
        ASSERT_TRUE(mismatch) << kind << " " << words["algorithm"];
        EXPECT_EQ(mismatch->what.rfind(lost, 0), 0U)
            << kind << " " << words["algorithm"] << ": " << mismatch->what;
        EXPECT_NE(mismatch->what.find("did not come within 40 ms"), std::string::npos) << mismatch->what;
      }
    }
  });
}

TEST_F(DirectCollective, AHostsClockTakesItsCallsOneByOne) {
  EXPECT_EQ(outcome(flow("all-reduce", 4096, {}), 20, Clock::host), "");
  EXPECT_EQ(outcome(flow("all-to-all", 4096, {{"form", "graph"}}), 20, Clock::host), "");
}

TEST_F(DirectCollective, MoreBlocksThanRunAtOnceAreRefused) {
  const std::string what = outcome(flow("all-reduce", MiB, {{"blocks", "500"}}), 1, Clock::device);
  EXPECT_NE(what.find("they wait for one another"), std::string::npos) << what;
}

TEST_F(DirectCollective, ManagedBuffersServeToo) {
  Flow managed = flow("all-gather", 4096 * 4, {});
  for (Endpoint& member : managed.members) member.memory = "managed";
  const std::string what = outcome(managed, 3, Clock::device);
  EXPECT_TRUE(what.empty() || what.rfind("refused: gpu:", 0) == 0) << what;
}

/// What needs no GPU.
class DirectCollectiveChoice : public ::testing::Test {
 protected:
  [[nodiscard]] static Flow flow(const std::string& kind, Bytes bytes, int members, const Words& words) {
    Flow flow;
    flow.method = "direct-collective";
    flow.bytes = bytes;
    flow.parameters.set("collective", kind);
    for (const auto& [name, value] : words) flow.parameters.set(name, value);
    for (int member = 0; member < members; ++member) {
      const DeviceId device{DeviceKind::gpu, member};
      flow.members.push_back({device, "device", Placement::bound, device});
    }
    flow.executor = gpu0;
    return flow;
  }
  [[nodiscard]] std::string refusal(const Flow& flow) const {
    for (const auto& method : backend_->methods) {
      if (method->name() != "direct-collective") continue;
      const Support support = method->supports(flow);
      return support ? std::string() : support.reason();
    }
    return "no such method";
  }
  [[nodiscard]] static std::set<direct::Algorithm> offered(const Flow& flow, const direct::Room& room) {
    std::set<direct::Algorithm> algorithms;
    for (const direct::LaunchChoice& choice :
         direct::choices_for(CollectiveShape::of(flow), room, flow.parameters)) {
      algorithms.insert(choice.algorithm);
      EXPECT_LE(choice.blocks, room.most_blocks);
      EXPECT_EQ(direct::LaunchChoice::from(choice.setting()), choice);
    }
    return algorithms;
  }

  std::shared_ptr<host::Context> host_ = std::make_shared<host::Context>();
  std::optional<Backend> backend_ = open_gpus(host_, 8, Environment{});
};

TEST_F(DirectCollectiveChoice, RefusesWhatItHasNot) {
  EXPECT_EQ(refusal(flow("all-reduce", 4096, 4, {})), "");
  EXPECT_NE(refusal(flow("all-reduce", 4096, 1, {})).find("2 to 16 members"), std::string::npos);
  EXPECT_NE(refusal(flow("all-reduce", 17 * 64, 17, {})).find("not 17"), std::string::npos);
  EXPECT_NE(refusal(flow("all-gather", 4096, 4, {{"algorithm", "two-shot"}})), "");
  EXPECT_NE(refusal(flow("broadcast", 4096, 4, {{"algorithm", "two-shot-ll"}})).find("two trips"),
            std::string::npos);
  EXPECT_NE(refusal(flow("all-reduce", 4096, 4, {{"algorithm", "one-shot"}, {"in_place", "yes"}})), "");
  EXPECT_NE(refusal(flow("all-reduce", 4100, 4, {{"algorithm", "one-shot-ll128"}})).find("whole 16 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(flow("all-reduce", 4096, 4, {{"trial", "yes"}})).find("int32"), std::string::npos);
  Flow on_host = flow("all-reduce", 4096, 4, {});
  on_host.members[1].device = {DeviceKind::numa, 0};
  EXPECT_NE(refusal(on_host).find("numa:0 is no GPU"), std::string::npos);
  EXPECT_THROW(static_cast<void>(refusal(flow("all-reduce", 4096, 4, {{"algorithm", "ring"}}))), Error);
  EXPECT_THROW(static_cast<void>(refusal(flow("all-reduce", 4096, 4, {{"form", "lazy"}}))), Error);
}

TEST_F(DirectCollectiveChoice, OffersWhatIsWorthMeasuringAtASize) {
  using enum direct::Algorithm;
  const direct::Room node{132, true, true};
  EXPECT_EQ(offered(flow("all-reduce", KiB, 4, {}), node),
            (std::set{one_shot_ll, two_shot_ll, one_shot_ll128, two_shot_ll128}));
  EXPECT_EQ(offered(flow("all-reduce", GiB, 4, {}), node), (std::set{two_shot}));
  EXPECT_EQ(offered(flow("all-reduce", GiB, 4, {{"in_place", "yes"}}), node), (std::set{two_shot}));
  EXPECT_EQ(offered(flow("barrier", 0, 4, {}), node), (std::set{one_shot}));
  const direct::Room apart{132, false, false};  // neither NVLink nor buffers that others reach
  EXPECT_EQ(offered(flow("all-gather", 4 * KiB, 4, {}), apart), (std::set{one_shot_ll}));
  EXPECT_THROW(static_cast<void>(offered(flow("all-gather", GiB, 4, {}), apart)), Error);
}

TEST_F(DirectCollectiveChoice, ParametersFixTheGrid) {
  const direct::Room node{132, true, true};
  const Flow wanted =
      flow("all-reduce", 64 * KiB, 4, {{"algorithm", "two-shot-ll128"}, {"blocks", "9"}, {"threads", "256"}});
  const auto choices = direct::choices_for(CollectiveShape::of(wanted), node, wanted.parameters);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices.front(), (direct::LaunchChoice{direct::Algorithm::two_shot_ll128, 9, 256}));
  const auto choose = [&](const Words& words) {
    const Flow other = flow("all-reduce", 64 * KiB, 4, words);
    static_cast<void>(direct::choices_for(CollectiveShape::of(other), node, other.parameters));
  };
  EXPECT_THROW(choose({{"threads", "100"}}), Error);
  EXPECT_THROW(choose({{"blocks", "133"}}), Error);
}

}  // namespace
}  // namespace linkscope::testing
