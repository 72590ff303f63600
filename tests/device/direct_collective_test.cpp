// direct-collective on this machine's GPUs: exact results, kernels in step at any pace, and what becomes of a lost
// member.
#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor.hpp"
#include "backend/gpu/vendor/check.hpp"
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
    for (const Bytes bytes : {4 * KiB, 192 * KiB, 6 * MiB, 18 * MiB}) {
      const Assembled assembled = assemble(flow(kind, bytes, {}));
      const auto all = assembled.local_parts->transfers();
      const std::vector<Setting> candidates = all.front()->facts().candidates;
      ASSERT_GE(candidates.size(), 2U);
      for (Transfer* member : all) EXPECT_EQ(member->facts().candidates, candidates);
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
    words.insert({{"type", "int32"}, {"self_check", "yes"}, {"form", "in-kernel"}});
    words["chunk"] = "256";  // of two-shot-push and ring: many rounds
    for (const char* blocks : {"2", "6"}) {
      words["blocks"] = blocks;
      words["threads"] = "96";
      words["jitter_ns"] = "0";
      EXPECT_EQ(outcome(flow(kind, 5 * 960 * 4, words), 8'000, Clock::device), "")
          << kind << " " << words["algorithm"] << " in " << blocks << " blocks";
      words["jitter_ns"] = "20000";
      EXPECT_EQ(outcome(flow(kind, 5 * 960 * 4, words), 500, Clock::device), "")
          << kind << " " << words["algorithm"] << " in " << blocks << " blocks, dawdling";
    }
  });
}

TEST_F(DirectCollective, AMillionCallsInOneKernel) {
  for (const char* algorithm : {"one-shot-ll", "two-shot-ll"}) {
    const Words words{{"type", "int32"},        {"self_check", "yes"}, {"form", "in-kernel"},
                      {"algorithm", algorithm}, {"blocks", "2"},       {"threads", "64"}};
    EXPECT_EQ(outcome(flow("all-reduce", 1024, words), 1'000'000, Clock::device), "") << algorithm;
  }
}

TEST_F(DirectCollective, ManyCallsThatMoveChunksInOneKernel) {
  for (const char* algorithm : {"two-shot-push", "ring"}) {
    for (const char* kind : {"all-reduce", "reduce", "reduce-scatter", "all-gather", "broadcast"}) {
      Words words{{"type", "int32"}, {"self_check", "yes"}, {"form", "in-kernel"}, {"algorithm", algorithm},
                  {"blocks", "4"},   {"threads", "64"},     {"chunk", "64"}};
      const std::string what = outcome(flow(kind, 64 * 36, words), 70'000, Clock::device);
      const std::string copies(kind);
      if (what.rfind("refused", 0) == 0 && (copies == "all-gather" || copies == "broadcast")) continue;
      EXPECT_EQ(what, "") << kind << " by " << algorithm;
      words["jitter_ns"] = "2000";
      EXPECT_EQ(outcome(flow(kind, 64 * 36, words), 5'000, Clock::device), "")
          << kind << " by " << algorithm << ", members are late";
    }
  }
}

// Ends within a vector, less than a chunk, workers without one, empty shares.
TEST_F(DirectCollective, ChunksAreExactHoweverABufferIsCut) {
  const auto try_all = [&](const char* kind, Words words) {
    for (const Bytes bytes : {Bytes{4}, Bytes{20}, Bytes{132}, Bytes{4004}, Bytes{49'380}, MiB + 4}) {
      for (const char* chunk : {"16", "240", "4096"}) {
        if (bytes > MiB && std::string(chunk) == "16") continue;  // slow
        for (const char* blocks : {"2", "8"}) {
          words["chunk"] = chunk;
          words["blocks"] = blocks;
          words["threads"] = "128";
          EXPECT_EQ(outcome(flow(kind, bytes, words), 3, Clock::device), "")
              << kind << " by " << words["algorithm"] << " of " << bytes << " B of " << words["type"]
              << " in chunks of " << chunk << ", " << blocks << " blocks, in place: " << words["in_place"];
        }
      }
    }
  };
  for (const char* type : {"float32", "bfloat16"}) {
    for (const char* in_place : {"no", "yes"}) {
      try_all("all-reduce", {{"algorithm", "two-shot-push"}, {"type", type}, {"in_place", in_place}});
      try_all("all-reduce", {{"algorithm", "ring"}, {"type", type}, {"in_place", in_place}});
      try_all("broadcast", {{"algorithm", "ring"}, {"type", type}, {"in_place", in_place}});
    }
    try_all("reduce", {{"algorithm", "ring"}, {"type", type}});
  }
}

// The next call's kernels are on the GPU while this one's run, and must not begin before it has ended.
TEST_F(DirectCollective, CallsAreInOrderHoweverTheirKernelsAreLaunched) {
  std::set<std::string> ran;
  each_algorithm([&](const std::string& kind, Words words) {
    if (kind != "barrier") words.insert({{"type", "int32"}, {"self_check", "yes"}});
    words["chunk"] = "256";
    for (const char* dependent : {"complete", "programmatic", "early"}) {
      for (const char* jitter : {"0", "3000"}) {
        words["dependent_launch"] = dependent;
        words["jitter_ns"] = jitter;
        words["form"] = "graph";
        words["recorded"] = "20";
        const std::string graph = outcome(flow(kind, 960 * 16, words), 10, Clock::device);
        words["form"] = "eager";
        const std::string eager = outcome(flow(kind, 960 * 16, words), 200, Clock::device);
        if (graph.rfind("refused", 0) == 0 && std::string(dependent) != "complete") continue;
        ran.insert(dependent);
        EXPECT_EQ(graph, "") << kind << " " << words["algorithm"] << " " << dependent << " " << jitter;
        EXPECT_EQ(eager, "") << kind << " " << words["algorithm"] << " " << dependent << " " << jitter;
      }
    }
  });
  EXPECT_TRUE(ran.contains("complete"));
}

TEST_F(DirectCollective, RowsSayHowKernelsAreLaunched) {
  const Assembled assembled = assemble(flow("all-reduce", 4096, {{"dependent_launch", "complete"}}));
  const std::vector<std::string> notes = assembled.local_parts->transfers().front()->notes();
  EXPECT_NE(std::find(notes.begin(), notes.end(), "dependent launch: complete"), notes.end());
}

TEST_F(DirectCollective, GraphsCountOnFromLaunchToLaunch) {
  each_algorithm([&](const std::string& kind, Words words) {
    words["form"] = "graph";
    words["recorded"] = "3";
    if (kind != "barrier") words.insert({{"type", "int32"}, {"self_check", "yes"}});
    EXPECT_EQ(outcome(flow(kind, 960 * 4, words), 7, Clock::device), "") << kind << " " << words["algorithm"];
  });
}

// A thread for each member, which launches when it likes.
TEST_F(DirectCollective, MembersThatLaunchAtTimesOfTheirOwn) {
  each_algorithm([&](const std::string& kind, Words words) {
    if (kind != "barrier") words.insert({{"type", "int32"}, {"self_check", "yes"}});
    const Assembled assembled = assemble(flow(kind, 960 * 4, words));
    const auto all = assembled.local_parts->transfers();
    arm(assembled, 1);
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
    EXPECT_EQ(wrong_with(assembled, 1), "") << kind << " " << words["algorithm"];
  });
}

TEST_F(DirectCollective, AMemberThatDoesNotComeIsNamedAndNobodyWaitsForEver) {
  each_algorithm([&](const std::string& kind, Words words) {
    words["timeout_ms"] = "40";
    const Assembled assembled = assemble(flow(kind, 960 * 4, words));
    std::vector<Lane> lanes = assembled.lanes(20);  // more calls than a sender may be ahead of who receives
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
        const auto fault = lane.transfer->fault();
        ASSERT_TRUE(fault) << "what tuning asks";
        EXPECT_EQ(fault->what, mismatch->what);
      }
    }
    for (Transfer* member : assembled.local_parts->transfers()) {
      member->use(member->facts().setting);
      EXPECT_FALSE(member->fault()) << "a new launch shape, a new start";
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

TEST_F(DirectCollective, LeavesNoStagingBehindInOneProcess) {
  const auto free_bytes = [] {
    std::size_t free = 0;
    std::size_t total = 0;
    LINKSCOPE_CHECK(gpuSetDevice(0));
    LINKSCOPE_CHECK(gpuMemGetInfo(&free, &total));
    return free;
  };
  const Flow large = flow("all-reduce", 64 * MiB, {{"algorithm", "ring"}, {"chunk", "262144"}});
  ASSERT_EQ(outcome(large, 1, Clock::device), "");  // kernels are loaded
  const std::size_t before = free_bytes();
  {
    const Assembled assembled = assemble(large);
    EXPECT_LT(free_bytes() + 64 * MiB, before);
  }
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DirectCollective, ManagedBuffersServeToo) {
  Flow managed = flow("all-gather", 4096 * 4, {});
  for (Endpoint& member : managed.members) move_to(member, "managed");
  const std::string what = outcome(managed, 3, Clock::device);
  EXPECT_TRUE(what.empty() || what.rfind("refused: gpu:", 0) == 0) << what;
}

}  // namespace
}  // namespace linkscope::testing
