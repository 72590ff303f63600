// WithXccl: tests of NCCL (or RCCL) between all GPUs that are here.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "open_gpus.hpp"

namespace linkscope::testing {

using Words = std::map<std::string, std::string>;

/// A flow made ready in this process.
struct Assembled {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::unique_ptr<PreparedParts> local_parts;
};

class WithXccl : public WithGpus {
 protected:
  void SetUp() override {
    WithGpus::SetUp();
    if (IsSkipped()) return;
    if (const Support here = method("xccl").available(); !here) GTEST_SKIP() << here.reason();
    if (gpus() < 2) GTEST_SKIP() << "one GPU";
  }

  [[nodiscard]] int gpus() const { return static_cast<int>(backend_->devices.size()); }
  [[nodiscard]] static Endpoint device(int index) { return endpoint({DeviceKind::gpu, index}, "device"); }
  [[nodiscard]] static Flow on_memory(const char* memory, Flow flow) {
    if (flow.source) move_to(*flow.source, memory);
    if (flow.destination) move_to(*flow.destination, memory);
    for (Endpoint& member : flow.members) move_to(member, memory);
    return flow;
  }
  [[nodiscard]] static Flow with(Flow flow, const Words& words) {
    for (const auto& [name, value] : words) flow.parameters.set(name, value);
    return flow;
  }
  [[nodiscard]] static Flow message(int from, int to, Bytes bytes, const Words& words = {}) {
    Flow flow;
    flow.method = "xccl";
    flow.source = device(from);
    flow.destination = device(to);
    flow.executor = flow.source->device;
    flow.bytes = bytes;
    return with(flow, words);
  }
  [[nodiscard]] static Flow collective(int members, Bytes bytes, const Words& words = {}) {
    Flow flow;
    flow.method = "xccl-collective";
    for (int i = 0; i < members; ++i) flow.members.push_back(device(i));
    flow.executor = flow.members.front().device;
    flow.bytes = bytes;
    return with(flow, words);
  }

  [[nodiscard]] std::unique_ptr<Buffer> allocate(const std::optional<Endpoint>& end, Bytes bytes) const {
    return end ? memory(end->memory).allocate(*end, bytes) : nullptr;
  }
  [[nodiscard]] Assembled assemble(const Flow& flow, std::uint64_t slots) const {
    const Method& wanted = method(flow.method);
    if (const Support support = wanted.supports(flow); !support)
      throw Error(Fault::unsupported, support.reason());
    Assembled made;
    std::vector<LocalPart> own;
    const Rotation rotation{(wanted.footprint(flow) + 255) / 256 * 256, slots};
    const std::vector<FlowPart> parts = wanted.parts(flow);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto source = allocate(parts[i].source, rotation.stride * slots);
      auto destination = allocate(parts[i].destination, rotation.stride * slots);
      own.push_back({i, {source.get(), destination.get(), rotation}});
      made.buffers.push_back(std::move(source));
      made.buffers.push_back(std::move(destination));
    }
    made.local_parts = wanted.assemble(flow, own);
    made.local_parts->import_handles({made.local_parts->export_handles()});
    return made;
  }
  /// Arms all, runs them together, verifies; empty where all is right.
  [[nodiscard]] std::string fault_after(const std::vector<Assembled>& flows, std::uint64_t repeats,
                                        Clock clock, std::uint64_t seed) const {
    std::vector<Lane> lanes;
    for (const Assembled& flow : flows) {
      for (Transfer* part : flow.local_parts->transfers()) {
        part->arm(seed);
        lanes.push_back({part, repeats});
      }
    }
    for (const Span& span : gate().run(lanes, clock)) {
      if (!(span.length() > 0)) return "no time passed";
    }
    Bytes verified = 0;
    for (const Lane& lane : lanes) {
      if (const auto wrong = lane.transfer->verify(seed)) return wrong->what;
      verified += lane.transfer->verified_bytes();
    }
    return verified > 0 ? "" : "nothing was verified";
  }
  /// The work first, then the memory, as a run does: a graph or a registration may still speak of it.
  static void take_down(std::vector<Assembled>& flows) {
    for (Assembled& flow : flows) {
      flow.local_parts->finish();
      flow.local_parts.reset();
    }
    flows.clear();
  }
  [[nodiscard]] std::string fault_of(const Flow& flow, std::uint64_t slots, std::uint64_t repeats = 3) const {
    std::vector<Assembled> flows;
    flows.push_back(assemble(flow, slots));
    std::string fault;
    for (const Clock clock : {Clock::device, Clock::batch, Clock::host}) {
      if (fault.empty()) fault = fault_after(flows, repeats, clock, 1 + static_cast<std::uint64_t>(clock));
    }
    take_down(flows);
    return fault;
  }
};

struct Way {
  const char* form;
  const char* recorded;
  const char* launch;
};

constexpr std::array<Way, 5> ways{{{"eager", "1", "one-thread"},
                                   {"eager", "1", "thread-per-gpu"},
                                   {"graph", "1", "one-thread"},
                                   {"graph", "5", "one-thread"},
                                   {"graph", "2", "thread-per-gpu"}}};

}  // namespace linkscope::testing
