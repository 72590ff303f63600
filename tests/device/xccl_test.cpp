// NCCL (or RCCL) between all GPUs that are here: every collective and message arrives exactly, however it is called.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "model/collective.hpp"
#include "with_xccl.hpp"

namespace linkscope::testing {
namespace {

class XcclCollectives : public WithXccl, public ::testing::WithParamInterface<const char*> {};

TEST_P(XcclCollectives, AreExact) {
  const std::string kind = GetParam();
  const bool in_place_too = kind != "all-to-all";
  for (int members = 2; members <= gpus(); ++members) {
    for (const char* type : {"float32", "float16", "bfloat16", "int32"}) {
      const Bytes unit =
          static_cast<Bytes>(members) * (std::string(type).ends_with("32") ? sizeof(float) : 2U);
      for (const Bytes count : {Bytes{1}, Bytes{257}, Bytes{65537}}) {
        for (const char* place : {"no", "yes"}) {
          if (*place == 'y' && !in_place_too) continue;
          for (const Way& way : ways) {
            SCOPED_TRACE(std::to_string(members) + " " + type + " " + std::to_string(count) + " " + place +
                         " " + way.form + " " + way.recorded + " " + way.launch);
            const Words words{{"collective", kind}, {"type", type},         {"in_place", place},
                              {"form", way.form},   {"launch", way.launch}, {"recorded", way.recorded}};
            const Flow flow = collective(members, unit * count, words);
            const bool adds_up = CollectiveShape::of(flow).accumulates();
            if (adds_up && std::string(way.recorded) != "1") {
              EXPECT_FALSE(method("xccl-collective").supports(flow));
              continue;
            }
            ASSERT_EQ(fault_of(flow, 2, adds_up ? 1 : 3), "");
          }
        }
      }
    }
  }
}

TEST_P(XcclCollectives, FindAWrongElement) {
  std::vector<Assembled> flows;
  flows.push_back(assemble(collective(2, 64 * KiB, {{"collective", GetParam()}}), 1));
  ASSERT_EQ(fault_after(flows, 1, Clock::device, 5), "");
  Buffer& output = *flows.front().buffers.at(1);  // of member 0
  output.poison(1024, 4);
  const auto wrong = flows.front().local_parts->transfers().front()->verify(5);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(wrong->what.find("gpu:0"), std::string::npos) << wrong->what;
}

INSTANTIATE_TEST_SUITE_P(Kinds, XcclCollectives,
                         ::testing::Values("all-reduce", "reduce", "broadcast", "reduce-scatter",
                                           "all-gather", "all-to-all"),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

/// A ring of messages, which one start may hold back as often as it says.
TEST_F(WithXccl, HoldsBackWhatItSaysBehindAClosedGate) {
  for (const char* memory_kind : {"device", "xccl"}) {
    if (!memory(memory_kind).available()) continue;
    for (const Way& way : ways) {
      SCOPED_TRACE(std::string(memory_kind) + " " + way.form + " " + way.recorded + " " + way.launch);
      const Words words{{"form", way.form}, {"launch", way.launch}, {"recorded", way.recorded}};
      std::vector<Assembled> ring;
      for (int i = 0; i < gpus(); ++i)
        ring.push_back(assemble(on_memory(memory_kind, message(i, (i + 1) % gpus(), 64 * KiB, words)), 1));
      const std::uint64_t most = ring.front().local_parts->transfers().front()->facts().max_repeats;
      EXPECT_GE(most * std::stoull(way.recorded), 16U);
      for (std::uint64_t seed = 1; seed <= 3; ++seed)
        ASSERT_EQ(fault_after(ring, most, Clock::device, seed), "");
      take_down(ring);
    }
  }
}

TEST_F(WithXccl, GraphsAreHeldBackLessOftenThanCalls) {
  const auto most = [&](const Words& words) {
    return assemble(collective(2, 1024, words), 1).local_parts->transfers().front()->facts().max_repeats;
  };
  EXPECT_EQ(most({{"form", "eager"}}), 64U);
  EXPECT_EQ(most({{"form", "graph"}}), 16U);
  EXPECT_EQ(most({{"form", "graph"}, {"recorded", "20"}}), 3U);
  EXPECT_EQ(most({{"form", "graph"}, {"recorded", "64"}}), 1U);
}

TEST_F(WithXccl, WorksOnMemoryOfTheLibrarysOwn) {
  if (const Support has = memory("xccl").available(); !has) GTEST_SKIP() << has.reason();
  for (const Way& way : ways) {
    const Words words{{"form", way.form}, {"launch", way.launch}, {"recorded", way.recorded}};
    for (const Bytes bytes : {Bytes{1000}, 16 * MiB + 8}) {
      SCOPED_TRACE(std::string(way.form) + " " + way.recorded + " " + way.launch + " " +
                   std::to_string(bytes));
      ASSERT_EQ(fault_of(on_memory("xccl", message(0, gpus() - 1, bytes, words)), 2), "");
    }
    for (const char* kind :
         {"all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all"}) {
      SCOPED_TRACE(std::string(way.form) + " " + way.recorded + " " + way.launch + " " + kind);
      Words all = words;
      all["collective"] = kind;
      const Bytes bytes = MiB * static_cast<Bytes>(gpus());
      ASSERT_EQ(fault_of(on_memory("xccl", collective(gpus(), bytes, all)), 2), "");
    }
  }
}

TEST_F(WithXccl, WorksOnRegisteredBuffers) {
  const Words registered{{"registered", "yes"}};
  if (const Support has = method("xccl").supports(message(0, 1, 64, registered)); !has)
    GTEST_SKIP() << has.reason();
  for (const char* memory_kind : {"device", "xccl"}) {
    if (!memory(memory_kind).available()) continue;
    for (const Way& way : ways) {
      SCOPED_TRACE(std::string(memory_kind) + " " + way.form + " " + way.recorded + " " + way.launch);
      Words words{{"form", way.form}, {"launch", way.launch}, {"recorded", way.recorded}};
      words.merge(Words(registered));
      // Twice: what was registered must be forgotten when other buffers may be at its addresses.
      for (const Bytes bytes : {Bytes{1} * MiB, Bytes{16} * MiB}) {
        ASSERT_EQ(fault_of(on_memory(memory_kind, message(0, 1, bytes, words)), 3), "");
        const Bytes all = bytes / 16 * static_cast<Bytes>(gpus());
        ASSERT_EQ(fault_of(on_memory(memory_kind, collective(gpus(), all, words)), 3), "");
      }
    }
  }
  const auto notes = assemble(message(0, 1, 64, registered), 1).local_parts->transfers().front()->notes();
  EXPECT_NE(std::find_if(notes.begin(), notes.end(),
                         [](const std::string& note) { return note.starts_with("buffers registered"); }),
            notes.end());
}

/// The library forgets a graph's buffers in later calls only: by then others may be at their addresses.
TEST_F(WithXccl, RegistersBuffersWhereThoseOfAGraphThatIsGoneLay) {
  if (const Support has = memory("xccl").available(); !has) GTEST_SKIP() << has.reason();
  if (const Support has = method("xccl").supports(message(0, 1, 64, {{"registered", "yes"}})); !has)
    GTEST_SKIP() << has.reason();
  for (const char* form : {"eager", "graph", "eager"}) {
    SCOPED_TRACE(form);
    const Words gone{{"form", "graph"}};
    const Words registered{{"form", form}, {"registered", "yes"}};
    ASSERT_EQ(fault_of(on_memory("xccl", message(0, 1, 16 * MiB, gone)), 1), "");
    ASSERT_EQ(fault_of(on_memory("xccl", message(0, 1, MiB, registered)), 1), "");
    ASSERT_EQ(fault_of(on_memory("xccl", collective(2, 16 * MiB, gone)), 1), "");
    ASSERT_EQ(fault_of(on_memory("xccl", collective(2, MiB, registered)), 1), "");
  }
}

TEST_F(WithXccl, MemoryIsReachedByCopiesAndKernelsOfAPeer) {
  if (const Support has = memory("xccl").available(); !has) GTEST_SKIP() << has.reason();
  if (backend_->peer_access.empty()) GTEST_SKIP() << "no peer access";
  for (const char* name : {"copy-engine", "kernel-copy"}) {
    for (const bool away : {true, false}) {
      Flow copy = message(0, 1, 3 * MiB + 9);
      copy.method = name;
      (away ? copy.destination : copy.source)->memory = "xccl";
      const Prepared made = prepare(copy, 2);
      made.transfer->arm(7);
      static_cast<void>(gate().run({{made.transfer.get(), 3}}, Clock::device));
      EXPECT_EQ(made.transfer->verify(7), std::nullopt) << name;
      copy.parameters.set("peer_access", "off");
      if (std::string(name) == "copy-engine") {
        EXPECT_NE(memory("xccl").allows(copy).reason().find("every peer"), std::string::npos);
      }
    }
  }
}

TEST_F(WithXccl, KeepsItsWordOverManyRounds) {
  std::vector<Assembled> flows;
  flows.push_back(assemble(collective(gpus(), 12 * KiB * static_cast<Bytes>(gpus())), 3));
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ASSERT_EQ(fault_after(flows, 1 + seed % 60, seed % 2 == 0 ? Clock::device : Clock::batch, seed), "")
        << seed;
  }
}

TEST_F(WithXccl, GraphsMayComeAndGoBetweenCalls) {
  for (int round = 0; round < 12; ++round) {
    const char* form = round % 2 == 0 ? "graph" : "eager";
    ASSERT_EQ(fault_of(collective(gpus(), 4 * KiB * static_cast<Bytes>(gpus()), {{"form", form}}), 1), "")
        << round;
  }
}

TEST_F(WithXccl, MessagesArriveAloneBothWaysAndRound) {
  for (const Way& way : ways) {
    const Words words{{"form", way.form}, {"launch", way.launch}, {"recorded", way.recorded}};
    for (const Bytes bytes : {Bytes{1}, Bytes{1000}, 4 * MiB + 8}) {
      SCOPED_TRACE(std::string(way.form) + " " + way.launch + " " + std::to_string(bytes));
      ASSERT_EQ(fault_of(message(0, gpus() - 1, bytes, words), 2), "");
      std::vector<Assembled> both;
      both.push_back(assemble(message(0, 1, bytes, words), 1));
      both.push_back(assemble(message(1, 0, bytes, words), 2));
      ASSERT_EQ(fault_after(both, 3, Clock::device, 3), "");
      ASSERT_EQ(fault_after(both, 3, Clock::batch, 4), "");
      std::vector<Assembled> ring;
      for (int i = 0; i < gpus(); ++i)
        ring.push_back(assemble(message(i, (i + 1) % gpus(), bytes + static_cast<Bytes>(i), words), 1));
      ASSERT_EQ(fault_after(ring, 4, Clock::device, 5), "");
      ASSERT_EQ(fault_after(ring, 4, Clock::host, 6), "");
    }
  }
}

TEST_F(WithXccl, MessagesOfACaseAreOneCompanyCollectivesAreNone) {
  const Assembled there = assemble(message(0, 1, 64), 1);
  const Assembled back = assemble(message(1, 0, 4096), 1);
  for (const Assembled* flow : {&there, &back}) {
    for (const Transfer* end : flow->local_parts->transfers()) EXPECT_EQ(end->facts().call_group, "xccl");
  }
  EXPECT_EQ(assemble(collective(2, 64), 1).local_parts->transfers().front()->facts().call_group, "");
}

TEST_F(WithXccl, WorksBesideACopyOfAnotherMethod) {
  Flow copy = message(0, 1, 8 * MiB);
  copy.method = "copy-engine";
  const Prepared beside = prepare(copy);
  const Assembled ring = assemble(collective(gpus(), MiB * static_cast<Bytes>(gpus())), 1);
  beside.transfer->arm(2);
  std::vector<Lane> lanes{{beside.transfer.get(), 4}};
  for (Transfer* part : ring.local_parts->transfers()) {
    part->arm(2);
    lanes.push_back({part, 10});
  }
  EXPECT_EQ(gate().run(lanes, Clock::device).size(), lanes.size());
  EXPECT_EQ(beside.transfer->verify(2), std::nullopt);
  for (Transfer* part : ring.local_parts->transfers()) EXPECT_EQ(part->verify(2), std::nullopt);
}

TEST_F(WithXccl, RefusesWhatItHasNot) {
  const auto refusal = [&](const Flow& flow) {
    const Support support = method(flow.method).supports(flow);
    return support ? std::string() : support.reason();
  };
  EXPECT_NE(refusal(collective(2, 0, {{"collective", "barrier"}})), "");
  EXPECT_NE(refusal(message(0, 0, 64)), "");
  EXPECT_NE(refusal(message(0, 1, 0)), "");
  Flow on_host = message(0, 1, 64);
  on_host.source = at("pinned");
  EXPECT_NE(refusal(on_host), "");
  Flow twice = collective(2, 64);
  twice.members[1] = twice.members[0];
  EXPECT_NE(refusal(twice), "");
  EXPECT_THROW(refusal(message(0, 1, 64, {{"form", "lazy"}})), Error);
  EXPECT_THROW(refusal(message(0, 1, 64, {{"launch", "both"}})), Error);
  EXPECT_THROW(refusal(collective(2, 64, {{"registered", "twice"}})), Error);
  const Assembled first = assemble(message(0, 1, 64), 1);
  EXPECT_THROW(static_cast<void>(assemble(message(1, 0, 64, {{"form", "graph"}}), 1)), Error);
}

TEST_F(WithXccl, RowsSayWhichLibraryAndWhatWasSetOfNvlinkSharp) {
  const Assembled made = assemble(collective(2, 1024), 1);
  const auto notes = made.local_parts->transfers().front()->notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.front().find(backend_->versions.at("nccl")), std::string::npos) << notes.front();
  const char* nvls = std::getenv("NCCL_NVLS_ENABLE");
  const std::string setting = nvls == nullptr ? "" : std::string("NCCL_NVLS_ENABLE=") + nvls;
  EXPECT_NE(notes.front().find(setting), std::string::npos) << notes.front();
}

}  // namespace
}  // namespace linkscope::testing
