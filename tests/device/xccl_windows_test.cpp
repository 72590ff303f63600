// NCCL on windows, by copy engines, with settings of its communicators, and several collectives at once: results are exact,
// and rows say what ran.
#include <algorithm>
#include <string>

#include "with_xccl.hpp"

namespace linkscope::testing {
namespace {

class WithWindows : public WithXccl {
 protected:
  void SetUp() override {
    WithXccl::SetUp();
    if (IsSkipped()) return;
    if (const Support has = memory("xccl").available(); !has) GTEST_SKIP() << has.reason();
    const Flow flow = on_window({{"collective", "all-gather"}});
    if (const Support has = method(flow.method).supports(flow); !has) GTEST_SKIP() << has.reason();
  }

  [[nodiscard]] Flow on_window(Words words, Bytes bytes = MiB) const {
    words.insert({"registered", "window"});
    return on_memory("xccl", collective(gpus(), bytes * static_cast<Bytes>(gpus()), words));
  }
  /// Empty where all is right and a note has `wanted`.
  [[nodiscard]] std::string fault_or_lack(const Flow& flow, const std::string& wanted) const {
    std::vector<Assembled> flows;
    flows.push_back(assemble(flow, 2));
    std::string fault = fault_after(flows, 3, Clock::device, 1);
    if (fault.empty()) fault = fault_after(flows, 3, Clock::batch, 2);
    const auto notes = flows.front().local_parts->transfers().front()->notes();
    if (fault.empty() && std::none_of(notes.begin(), notes.end(), [&](const std::string& note) {
          return note.find(wanted) != std::string::npos;
        }))
      fault = "no note of " + wanted;
    take_down(flows);
    return fault;
  }
};

TEST_F(WithWindows, SymmetricKernelsAreExact) {
  for (const char* kind : {"all-reduce", "all-gather", "reduce-scatter"}) {
    for (const Way& way : ways) {
      for (const Bytes bytes : {Bytes{1} * KiB, 4 * MiB}) {
        SCOPED_TRACE(std::string(kind) + " " + way.form + " " + way.recorded + " " + way.launch);
        const Words words{
            {"collective", kind}, {"form", way.form}, {"launch", way.launch}, {"recorded", way.recorded}};
        ASSERT_EQ(fault_or_lack(on_window(words, bytes), "ran ncclSym"), "");
      }
    }
  }
}

TEST_F(WithWindows, CopyEnginesAreExact) {
  for (const char* kind : {"all-gather", "all-to-all"}) {
    for (const Way& way : ways) {
      SCOPED_TRACE(std::string(kind) + " " + way.form + " " + way.recorded + " " + way.launch);
      const Flow flow = on_window({{"collective", kind},
                                   {"form", way.form},
                                   {"launch", way.launch},
                                   {"recorded", way.recorded},
                                   {"policy", "zero"}});
      if (const Support has = method(flow.method).supports(flow); !has) GTEST_SKIP() << has.reason();
      ASSERT_EQ(fault_or_lack(flow, "copies by copy engines"), "");
    }
  }
}

TEST_F(WithWindows, HoldBackWhatTheySayBehindAClosedGate) {
  for (const char* policy : {"default", "zero"}) {
    for (const char* form : {"eager", "graph"}) {
      SCOPED_TRACE(std::string(policy) + " " + form);
      std::vector<Assembled> flows;
      flows.push_back(
          assemble(on_window({{"collective", "all-gather"}, {"form", form}, {"policy", policy}}), 1));
      const std::uint64_t most = flows.front().local_parts->transfers().front()->facts().max_repeats;
      for (std::uint64_t seed = 1; seed <= 3; ++seed)
        ASSERT_EQ(fault_after(flows, most, Clock::device, seed), "");
      take_down(flows);
    }
  }
}

TEST_F(WithWindows, RefusesWhatHasNoKernelForThem) {
  const auto refusal = [&](const Flow& flow) {
    const Support support = method(flow.method).supports(flow);
    return support ? std::string() : support.reason();
  };
  EXPECT_NE(refusal(on_window({{"collective", "reduce"}})).find("reduce"), std::string::npos);
  EXPECT_NE(refusal(on_window({{"collective", "all-to-all"}})).find("policy: zero"), std::string::npos);
  EXPECT_NE(refusal(on_window({{"type", "int32"}})).find("int32"), std::string::npos);
  const Words window{{"registered", "window"}};
  EXPECT_NE(refusal(collective(2, MiB, window)).find("memory xccl"), std::string::npos);
}

TEST_F(WithXccl, TakesSettingsOfItsCommunicators) {
  std::vector<Assembled> flows;
  flows.push_back(assemble(collective(gpus(), 16 * MiB, {{"form", "graph"}, {"ctas", "2"}}), 1));
  ASSERT_EQ(fault_after(flows, 2, Clock::device, 1), "");
  const auto notes = flows.front().local_parts->transfers().front()->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find(", 2 CTAs") != std::string::npos;
  })) << notes.back();
  take_down(flows);
  ASSERT_EQ(fault_of(collective(gpus(), MiB, {{"ctas", "4"}, {"policy", "efficiency"}}), 2), "");
}

TEST_F(WithXccl, BuffersMayBeginOffABoundary) {
  for (const char* kind :
       {"all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all"}) {
    for (const char* form : {"eager", "graph"}) {
      SCOPED_TRACE(std::string(kind) + " " + form);
      const Bytes bytes = 100 * KiB * static_cast<Bytes>(gpus());
      const Words words{{"collective", kind}, {"form", form}, {"misaligned", "4"}};
      ASSERT_EQ(fault_of(collective(gpus(), bytes, words), 2), "");
    }
  }
  const Flow odd = collective(2, 64, {{"misaligned", "3"}});
  EXPECT_FALSE(method(odd.method).supports(odd));
}

TEST_F(WithXccl, SeveralCollectivesRunAtOnce) {
  for (const char* form : {"eager", "graph"}) {
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(std::string(form) + " " + std::to_string(round));
      std::vector<Assembled> flows;
      for (int i = 0; i < 4; ++i) flows.push_back(assemble(collective(gpus(), 8 * MiB, {{"form", form}}), 1));
      ASSERT_EQ(fault_after(flows, 5, Clock::device, 1), "");
      ASSERT_EQ(fault_after(flows, 2, Clock::device, 2), "");
      take_down(flows);
    }
  }
}

}  // namespace
}  // namespace linkscope::testing
