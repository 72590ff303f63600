// Which kernels direct-collective has for what, and how they are launched. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "collective/launch_choice.hpp"
#include "connected_collective.hpp"

namespace linkscope::testing {
namespace {

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
      flow.members.push_back(endpoint(device, "device"));
    }
    flow.executor = gpu0;
    return flow;
  }
  [[nodiscard]] std::string refusal(const Flow& flow) const {
    for (const Method& method : backend_->methods) {
      if (method.name() != "direct-collective") continue;
      const Support support = stressed(method, flow).supports(flow);
      return support ? std::string() : support.reason();
    }
    return "no such method";
  }
  [[nodiscard]] static bool moves_chunks(const direct::LaunchChoice& choice) {
    const direct::Family family = direct::row_of(choice.algorithm).family;
    return family == direct::Family::pushes || family == direct::Family::rings;
  }
  [[nodiscard]] static std::set<direct::Algorithm> offered(const Flow& flow,
                                                           const direct::DeviceLimits& limits) {
    std::set<direct::Algorithm> algorithms;
    for (const direct::LaunchChoice& choice :
         direct::choices_for(CollectiveShape::of(flow), limits, flow.parameters)) {
      algorithms.insert(choice.algorithm);
      const bool chunks = moves_chunks(choice);
      EXPECT_LE(choice.blocks, limits.most_blocks * (chunks ? direct::chunk_blocks_each : 1U));
      EXPECT_EQ(choice.chunk != 0, chunks);
      EXPECT_EQ(direct::LaunchChoice::from(choice.setting()), choice);
    }
    return algorithms;
  }

  std::shared_ptr<host::HostContext> host_ = std::make_shared<host::HostContext>();
  std::optional<Backend> backend_ = open_gpus(host_, 8, Environment{});
};

TEST_F(DirectCollectiveChoice, RefusesWhatItHasNot) {
  EXPECT_EQ(refusal(flow("all-reduce", 4096, 4, {})), "");
  EXPECT_NE(refusal(flow("all-reduce", 4096, 1, {})).find("2 to 16 members"), std::string::npos);
  EXPECT_NE(refusal(flow("all-reduce", 17 * 64, 17, {})).find("not 17"), std::string::npos);
  EXPECT_NE(refusal(flow("all-gather", 4096, 4, {{"algorithm", "two-shot"}})), "");
  EXPECT_NE(refusal(flow("all-gather", 4096, 4, {{"algorithm", "two-shot-push"}})).find("only sums"),
            std::string::npos);
  EXPECT_NE(refusal(flow("reduce-scatter", 80, 4, {{"algorithm", "two-shot-push"}})).find("whole 16 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(flow("all-gather", 80, 4, {{"algorithm", "ring"}})).find("whole 16 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(flow("all-to-all", 4096, 4, {{"algorithm", "ring"}})).find("one other member only"),
            std::string::npos);
  EXPECT_NE(refusal(flow("broadcast", 4096, 4, {{"algorithm", "two-shot-ll"}})).find("two trips"),
            std::string::npos);
  EXPECT_NE(refusal(flow("all-reduce", 4096, 4, {{"algorithm", "one-shot"}, {"in_place", "yes"}})), "");
  EXPECT_NE(refusal(flow("all-reduce", 4100, 4, {{"algorithm", "one-shot-ll128"}})).find("whole 16 bytes"),
            std::string::npos);
  Flow on_host = flow("all-reduce", 4096, 4, {});
  on_host.members[1].device = {DeviceKind::numa, 0};
  EXPECT_NE(refusal(on_host).find("numa:0 is not a GPU"), std::string::npos);
  EXPECT_THROW(static_cast<void>(refusal(flow("all-reduce", 4096, 4, {{"algorithm", "tree"}}))), Error);
  EXPECT_THROW(static_cast<void>(refusal(flow("all-reduce", 4096, 4, {{"form", "lazy"}}))), Error);
}

TEST_F(DirectCollectiveChoice, OffersWhatIsWorthMeasuringAtASize) {
  using enum direct::Algorithm;
  const direct::DeviceLimits node{.most_blocks = 132, .lines = true, .peers = true};
  EXPECT_EQ(offered(flow("all-reduce", KiB, 4, {}), node),
            (std::set{one_shot_ll, two_shot_ll, one_shot_ll128, two_shot_ll128}));
  EXPECT_EQ(offered(flow("all-reduce", 2 * MiB, 4, {}), node),
            (std::set{one_shot, two_shot, two_shot_ll128}));
  EXPECT_EQ(offered(flow("all-reduce", GiB, 4, {}), node), (std::set{two_shot, two_shot_push, ring}));
  EXPECT_EQ(offered(flow("all-reduce", GiB, 4, {{"in_place", "yes"}}), node),
            (std::set{two_shot, two_shot_push, ring}));
  EXPECT_EQ(offered(flow("reduce-scatter", GiB, 4, {}), node), (std::set{one_shot, two_shot_push, ring}));
  EXPECT_EQ(offered(flow("broadcast", GiB, 4, {}), node), (std::set{two_shot, ring}));
  EXPECT_EQ(offered(flow("all-gather", GiB, 4, {}), node), (std::set{one_shot, ring}));
  EXPECT_EQ(offered(flow("all-reduce", 8 * MiB, 4, {}), node).count(ring), 0U);
  EXPECT_EQ(offered(flow("all-reduce", GiB, 4, {{"algorithm", "two-shot-push"}}), node),
            (std::set{two_shot_push}));
  EXPECT_EQ(offered(flow("barrier", 0, 4, {}), node), (std::set{one_shot}));
  const direct::DeviceLimits apart{.most_blocks = 132};  // neither NVLink nor buffers that others reach
  EXPECT_EQ(offered(flow("all-gather", 4 * KiB, 4, {}), apart), (std::set{one_shot_ll}));
  EXPECT_THROW(static_cast<void>(offered(flow("all-gather", GiB, 4, {}), apart)), Error);
}

TEST_F(DirectCollectiveChoice, ParametersFixTheGrid) {
  const direct::DeviceLimits node{.most_blocks = 132, .lines = true, .peers = true};
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

TEST_F(DirectCollectiveChoice, PushesWorkInPairsWithinTheStagingThatIsAllocated) {
  const auto try_all = [&](const Flow& wanted) {
    const CollectiveShape shape = CollectiveShape::of(wanted);
    for (const unsigned most_blocks : {1U, 7U, 66U, 132U, 512U}) {
      const direct::DeviceLimits limits{.most_blocks = most_blocks, .lines = true, .peers = true};
      for (const direct::LaunchChoice& choice : direct::choices_for(shape, limits, wanted.parameters)) {
        if (choice.algorithm != direct::Algorithm::two_shot_push) continue;
        EXPECT_EQ(choice.blocks % 2, 0U);
        EXPECT_GE(choice.blocks, 2U);
        const direct::PushCut cut = direct::push_cut(shape, 1, choice.blocks / 2, choice.chunk);
        EXPECT_LE(cut.staging_bytes(), direct::staging_bytes(shape, wanted.parameters))
            << wanted.bytes << " B, " << shape.members << " members, " << choice.blocks << " blocks, "
            << choice.chunk;
        EXPECT_LE(cut.staging_bytes(), 256 * MiB);
      }
    }
  };
  for (const int members : {2, 4, 16}) {
    for (const char* kind : {"all-reduce", "reduce", "reduce-scatter"}) {
      for (const Bytes bytes : {Bytes{1024}, MiB, 6 * MiB, 64 * MiB, 4 * GiB}) {
        try_all(flow(kind, bytes, members, {}));
        try_all(flow(kind, bytes, members, {{"algorithm", "two-shot-push"}}));
      }
      try_all(flow(kind, GiB, members, {{"algorithm", "two-shot-push"}, {"chunk", "48"}}));
    }
  }
}

TEST_F(DirectCollectiveChoice, RingsStayWithinTheStagingThatIsAllocated) {
  for (const int members : {2, 4, 16}) {
    for (const char* kind : {"all-reduce", "reduce", "reduce-scatter", "all-gather", "broadcast"}) {
      for (const Bytes bytes : {Bytes{1024}, 16 * MiB, 64 * MiB, 4 * GiB}) {
        const Flow wanted = flow(kind, bytes, members, {{"algorithm", "ring"}});
        const CollectiveShape shape = CollectiveShape::of(wanted);
        for (const unsigned most_blocks : {1U, 7U, 132U, 512U}) {
          const direct::DeviceLimits limits{.most_blocks = most_blocks, .lines = true, .peers = true};
          for (const direct::LaunchChoice& choice : direct::choices_for(shape, limits, wanted.parameters)) {
            const direct::RingCut cut = direct::ring_cut(shape, 1, choice.blocks, choice.chunk);
            EXPECT_LE(cut.staging_bytes(), direct::staging_bytes(shape, wanted.parameters))
                << kind << " of " << bytes << " B, " << members << " members, " << choice.blocks << " blocks";
            EXPECT_LE(cut.staging_bytes(), 256 * MiB);
            EXPECT_GT(cut.rounds(choice.blocks - 1), 0U);
          }
        }
      }
    }
  }
}

TEST_F(DirectCollectiveChoice, PushesTakeTheGridThatIsAskedFor) {
  const direct::DeviceLimits node{.most_blocks = 132, .lines = true, .peers = true};
  const auto choose = [&](const Words& words) {
    const Flow wanted = flow("all-reduce", GiB, 4, words);
    return direct::choices_for(CollectiveShape::of(wanted), node, wanted.parameters);
  };
  const auto choices =
      choose({{"algorithm", "two-shot-push"}, {"blocks", "264"}, {"threads", "256"}, {"chunk", "65536"}});
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices.front(), (direct::LaunchChoice{direct::Algorithm::two_shot_push, 264, 256, 64 * KiB}));
  const auto refused = [&](const Words& words) -> std::string {
    try {
      static_cast<void>(choose(words));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refused({{"algorithm", "two-shot-push"}, {"blocks", "9"}}).find("even"), std::string::npos);
  EXPECT_NE(refused({{"algorithm", "two-shot-push"}, {"blocks", "266"}}).find("264 blocks at most"),
            std::string::npos);
  EXPECT_NE(refused({{"algorithm", "two-shot-push"}, {"chunk", "1000"}}).find("a multiple of 16"),
            std::string::npos);
  EXPECT_NE(
      refused({{"algorithm", "two-shot-push"}, {"chunk", "1048576"}, {"blocks", "264"}}).find("staging"),
      std::string::npos);
}

TEST_F(DirectCollectiveChoice, KernelsAreLaunchedAsTheRoomAndTheFormLetThem) {
  using enum direct::DependentLaunch;
  direct::DeviceLimits limits{.most_blocks = 132, .lines = true, .peers = true, .programmatic = true};
  const auto launches = [&](Words words) {
    std::set<direct::DependentLaunch> found;
    unsigned most = 0;
    const Flow wanted = flow("all-reduce", 16 * MiB, 4, words);
    for (const auto& choice : direct::choices_for(CollectiveShape::of(wanted), limits, wanted.parameters)) {
      found.insert(choice.dependent);
      const auto each = moves_chunks(choice) ? direct::chunk_blocks_each : 1U;
      most = std::max(most, choice.blocks / each);
    }
    return std::pair{found, most};
  };
  EXPECT_EQ(launches({}), (std::pair{std::set{programmatic}, 132U}));
  EXPECT_EQ(launches({{"form", "graph"}, {"recorded", "2"}}), (std::pair{std::set{programmatic}, 132U}));
  EXPECT_EQ(launches({{"form", "graph"}}), (std::pair{std::set{complete}, 132U}));
  EXPECT_EQ(launches({{"dependent_launch", "complete"}}), (std::pair{std::set{complete}, 132U}));
  EXPECT_EQ(launches({{"form", "in-kernel"}}), (std::pair{std::set{complete}, 132U}));
  EXPECT_EQ(launches({{"dependent_launch", "measured"}}),
            (std::pair{std::set{complete, programmatic, early}, 132U}));
  EXPECT_EQ(launches({{"dependent_launch", "early"}}), (std::pair{std::set{early}, 132U}));
  EXPECT_THROW(launches({{"dependent_launch", "programmatic"}, {"form", "in-kernel"}}), Error);
  EXPECT_THROW(launches({{"dependent_launch", "soon"}}), Error);

  limits.shared = true;  // of two kernels that may be there at once each has half of the room
  EXPECT_EQ(launches({}), (std::pair{std::set{complete}, 132U}));
  EXPECT_EQ(launches({{"dependent_launch", "programmatic"}}), (std::pair{std::set{programmatic}, 66U}));
  EXPECT_EQ(launches({{"dependent_launch", "measured"}}),
            (std::pair{std::set{complete, programmatic}, 132U}));
  EXPECT_THROW(launches({{"dependent_launch", "early"}}), Error);

  limits = {.most_blocks = 132, .lines = true, .peers = true};
  EXPECT_EQ(launches({}), (std::pair{std::set{complete}, 132U}));
  EXPECT_EQ(launches({{"dependent_launch", "measured"}}), (std::pair{std::set{complete}, 132U}));
  EXPECT_THROW(launches({{"dependent_launch", "programmatic"}}), Error);
}

}  // namespace
}  // namespace linkscope::testing
