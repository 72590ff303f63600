// Modelled schedules: real bytes arrive, and each phase takes what its packs, messages, copies and collectives say.
#include "backend/modelled/schedule_method.hpp"

#include <gtest/gtest.h>

#include <string>

#include "backend/modelled/backend.hpp"
#include "backend/modelled/buffer.hpp"
#include "backend/modelled/transfer.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"
#include "gpu_ids.hpp"

namespace linkscope::modelled {
namespace {

constexpr Seconds us = 1e-6;
constexpr Seconds exact = 1e-12;
constexpr Bytes megabyte = 1000 * 1000;

DeviceId host() { return {DeviceKind::numa, 0}; }

/// Three GPUs on a switch, 100 GB/s each way for each; memories of 1000 GB/s, the host's behind 10 GB/s.
Machine three_on_a_switch() {
  Machine machine;
  machine.name = "switched";
  machine.devices.push_back({host(), "CPU", 64 * GiB, 1000, {}});
  for (int i = 0; i < 3; ++i) {
    const std::string name = gpu(i).text();
    machine.devices.push_back({gpu(i), "GPU", 64 * GiB, 1000, {}});
    machine.links.push_back({name + ">switch", 100, 0});
    machine.links.push_back({"switch>" + name, 100, 0});
    machine.links.push_back({name + ">numa:0", 10, 0});
    machine.links.push_back({"numa:0>" + name, 10, 0});
    machine.routes[{gpu(i), host()}] = {name + ">numa:0"};
    machine.routes[{host(), gpu(i)}] = {"numa:0>" + name};
    for (int j = 0; j < 3; ++j) {
      if (j != i) machine.routes[{gpu(i), gpu(j)}] = {name + ">switch", "switch>" + gpu(j).text()};
    }
  }
  return machine;
}

/// A described node and what a run keeps of one schedule.
class ModelledSchedules : public ::testing::Test {
 protected:
  void SetUp() override { describe(three_on_a_switch()); }
  void describe(Machine machine) { opened_ = modelled::open(std::move(machine)); }

  [[nodiscard]] ModelledSchedule method(const std::string& name) const {
    for (const ScheduleRow& row : schedule_rows) {
      if (row.spec.name == name) return {opened_.context, row};
    }
    throw Error(Fault::bad_input, name);
  }

  /// Messages cost 1 us, packs 2 us and 1 us for every further launch, copies 3 us, collectives 1 us and 2 us a step.
  static Flow flow_of(const std::string& method, Schedule schedule) {
    Flow flow;
    flow.method = method;
    flow.executor = gpu(0);
    flow.bytes = schedule.bytes();
    ScheduleFigures figures;
    StepFigures itself;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      flow.members.push_back(endpoint(gpu(rank), "device"));
      figures.staged_on.push_back(host());
      itself.pairs.emplace_back(rank, rank);
    }
    flow.figures = MethodFigures{.latency_us = 1};
    itself.figures = {.latency_us = 2, .step_us = 1};
    figures.packs = {itself};
    itself.figures = {.latency_us = 3};
    figures.copies_out = figures.copies_in = {itself};
    figures.collectives["all-reduce"] = figures.collectives["barrier"] = {.latency_us = 1, .step_us = 2};
    flow.schedule_figures = std::make_shared<ScheduleFigures>(figures);
    flow.schedule = std::make_shared<Schedule>(std::move(schedule));
    return flow;
  }

  static Schedule once(std::vector<ScheduledMessage> messages, int ranks) {
    Phase phase;
    phase.messages = std::move(messages);
    Schedule schedule;
    schedule.ranks = ranks;
    schedule.loops = {Loop{1, {phase}}};
    return schedule;
  }

  /// Seconds that every member takes.
  Seconds run(const Flow& flow, std::uint64_t seed = 7) {
    const ModelledSchedule schedule = method(flow.method);
    if (const Support answer = schedule.supports(flow); !answer)
      throw Error(Fault::unsupported, answer.reason());
    std::vector<LocalPart> own;
    const std::vector<FlowPart> parts = schedule.parts(flow);
    for (std::size_t i = 0; i < parts.size(); ++i)
      own.push_back({i,
                     {allocate(parts[i].source, parts[i].source_bytes),
                      allocate(parts[i].destination, parts[i].destination_bytes),
                      {}}});
    local_parts_ = schedule.assemble(flow, own);
    std::vector<Lane> lanes;
    for (Transfer* transfer : local_parts_->transfers()) {
      transfer->arm(seed);
      lanes.push_back({transfer, 1});
    }
    const std::vector<Span> spans = opened_.backend.gate->run(lanes, Clock::host);
    for (const Span& span : spans) EXPECT_NEAR(span.length(), spans.front().length(), exact);
    return spans.front().length();
  }

  [[nodiscard]] Breakdown told(std::size_t rank) const {
    return local_parts_->transfers().at(rank)->breakdown().value();
  }
  [[nodiscard]] std::optional<Mismatch> wrong(std::uint64_t seed = 7) const {
    for (const Transfer* transfer : local_parts_->transfers()) {
      if (auto mismatch = transfer->verify(seed)) return mismatch;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string reason(const Flow& flow) const {
    return method(flow.method).supports(flow).reason();
  }

  OpenedMachine opened_;
  std::unique_ptr<PreparedParts> local_parts_;
  std::vector<std::unique_ptr<Buffer>> buffers_;

 private:
  Buffer* allocate(const std::optional<Endpoint>& where, Bytes bytes) {
    if (!where || bytes == 0) return nullptr;
    buffers_.push_back(std::make_unique<ModelledBuffer>(*where, bytes));
    return buffers_.back().get();
  }
};

/// Two chunks, neighbours along `axis` by a side of `side` cells and `thick` cells from there; layers of `fields`.
Schedule halo_of(std::vector<int> fields, int depth, GridAxis axis, std::uint64_t side,
                 std::uint64_t thick = 10) {
  Phase phase;
  phase.halo = HaloExchange{std::move(fields), depth, axis};
  const bool across = axis == GridAxis::x;
  Schedule schedule;
  schedule.ranks = 2;
  schedule.grid =
      CellGrid{across ? 2 * thick : side, across ? side : 2 * thick, {{"density"}, {"energy"}}, {}};
  for (std::uint64_t i = 0; i < 2; ++i)
    schedule.grid->chunks.push_back(across ? Chunk{i * thick, 0, thick, side}
                                           : Chunk{0, i * thick, side, thick});
  const Bytes bytes = halo_bytes(*phase.halo, schedule.grid->chunks.front());
  phase.messages = {{0, 1, bytes}, {1, 0, bytes}};
  schedule.loops = {Loop{1, {phase}}};
  schedule.check();
  return schedule;
}

Flow with_state(Flow flow) {
  flow.state = flow.members;
  return flow;
}

TEST_F(ModelledSchedules, AMessageTakesItsLatencyAndItsLink) {
  EXPECT_NEAR(run(flow_of("mpi-schedule", once({{0, 1, megabyte}}, 2))), 11 * us, exact);
  EXPECT_FALSE(wrong()) << wrong()->what;
  EXPECT_NEAR(told(0).parts.at("wait"), 11 * us, exact);
  ASSERT_EQ(told(1).phases.size(), 1U);
  EXPECT_NEAR(told(1).phases.front(), 11 * us, exact);
}

TEST_F(ModelledSchedules, MessagesShareALinkAndOppositeOnesDoNot) {
  EXPECT_NEAR(run(flow_of("xccl-schedule", once({{0, 2, megabyte}, {1, 2, megabyte}}, 3))), 21 * us, exact);
  EXPECT_NEAR(run(flow_of("xccl-schedule", once({{0, 2, megabyte}, {1, 2, 3 * megabyte}}, 3))), 41 * us,
              exact);
  EXPECT_NEAR(run(flow_of("xccl-schedule", once({{0, 1, megabyte}, {1, 0, megabyte}}, 3))), 11 * us, exact);
}

TEST_F(ModelledSchedules, APhaseEndsWhenAllHaveArrivedAndTheOthersWaitForIt) {
  run(flow_of("mpi-schedule", once({{0, 1, megabyte}, {1, 2, 2 * megabyte}}, 3)));
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_NEAR(told(rank).parts.at("wait"), 21 * us, exact);
}

TEST_F(ModelledSchedules, LoopsRepeatAndPhasesComeEverySoOften) {
  Schedule schedule = once({{0, 1, megabyte}}, 2);
  schedule.loops.front().repeats = 25;
  schedule.loops.front().phases.front().gap_s = 1;
  schedule.loops.front().phases.push_back(
      {"summary", 10, 0, {}, {}, Termination::none, {{NumberType::float64, ReduceOp::sum, 1}}});
  // Two all-reduces of two ranks around a ring: 1 us and twice 2 us each.
  EXPECT_NEAR(run(flow_of("mpi-schedule", schedule)), 25 * 11 * us + 2 * 5 * us, exact);
  EXPECT_NEAR(told(0).phases.at(0), 275 * us, exact);
  EXPECT_NEAR(told(0).phases.at(1), 10 * us, exact);
  EXPECT_NEAR(told(0).parts.at("collectives"), 10 * us, exact);
}

TEST_F(ModelledSchedules, CollectivesTakeTheirSteps) {
  Schedule schedule = once({}, 3);
  schedule.loops.front().phases.front().collectives = {{}, {NumberType::int32, ReduceOp::max, 2}};
  EXPECT_NEAR(run(flow_of("xccl-schedule", schedule)), (5 + 9) * us, exact);    // 2 and 4 steps around a ring
  EXPECT_NEAR(run(flow_of("direct-schedule", schedule)), (3 + 5) * us, exact);  // 1 and 2 in pairs
}

TEST_F(ModelledSchedules, RoundsOfParticlesEndWithTheirTest) {
  Schedule schedule = once({{0, 1, particle_header_bytes + particle_bytes}}, 2);
  schedule.particles = ParticleDeck{{1, 1}, {{1}, {0}}, 1};
  Phase& round = schedule.loops.front().phases.front();
  round.messages.clear();
  round.termination = Termination::blocking;
  schedule.loops.front().phases.push_back(round);
  EXPECT_NEAR(run(flow_of("mpi-schedule", schedule)), 2 * 5 * us, exact);
  for (Phase& one : schedule.loops.front().phases) one.termination = Termination::non_blocking;
  EXPECT_NEAR(run(flow_of("mpi-schedule", schedule)), 3 * 5 * us, exact);  // the last is confirmed
}

TEST_F(ModelledSchedules, FieldsArePackedByLaunchesAndUnpackedOnceTheyHaveArrived) {
  // 8 bytes of each of 125000 rows of 2 fields: 2 MB; a launch for each field.
  const Flow flow = with_state(flow_of("mpi-schedule", halo_of({0, 1}, 1, GridAxis::x, 124995)));
  const Seconds pack = 3 * us + 2 * 2 * us;  // the memory is read and written
  const Seconds message = 1 * us + 20 * us;
  EXPECT_NEAR(run(flow), 2 * pack + message, exact);
  for (const char* part : {"pack", "unpack"}) EXPECT_NEAR(told(1).parts.at(part), pack, exact) << part;
  EXPECT_NEAR(told(1).parts.at("wait"), message, exact);
  EXPECT_EQ(local_parts_->transfers().front()->notes().size(), 1U);
  // Bottom and top: one for each layer of a field.
  run(with_state(flow_of("mpi-schedule", halo_of({0}, 2, GridAxis::y, 124995))));
  EXPECT_NEAR(told(0).parts.at("pack"), pack, exact);
}

TEST_F(ModelledSchedules, DirectAccessPacksIntoThePeersMemory) {
  run(with_state(flow_of("direct-schedule", halo_of({0, 1}, 1, GridAxis::x, 124995))));
  EXPECT_EQ(told(0).parts.at("wait"), 0);
  EXPECT_NEAR(told(0).parts.at("pack"), 21 * us, exact);
  EXPECT_NEAR(told(0).parts.at("unpack"), 7 * us, exact);
  run(flow_of("direct-schedule", once({{0, 1, megabyte}}, 2)));
  EXPECT_NEAR(told(0).parts.at("send"), 11 * us, exact);
  EXPECT_NEAR(told(1).parts.at("wait"), 11 * us, exact);
}

TEST_F(ModelledSchedules, HostStagingCopiesTheFullBufferWhateverTheMessage) {
  Schedule schedule = once({{0, 1, megabyte}}, 2);
  schedule.loops.push_back(schedule.loops.front());
  schedule.loops.back().phases.front().messages.front().bytes = megabyte / 10;
  Flow flow = flow_of("mpi-schedule", schedule);
  flow.parameters.set("staging", "full");
  // Out and in a megabyte at 10 GB/s, both times; between, the messages within the host's memory of 1000 GB/s.
  const Seconds copies = 2 * (3 + 100) * us;
  EXPECT_NEAR(run(flow), 2 * copies + (1 + 2) * us + (1 + 0.2) * us, exact);
  EXPECT_NEAR(told(0).parts.at("copy"), copies, exact);
  EXPECT_NEAR(told(1).parts.at("copy"), copies, exact);
  EXPECT_NEAR(told(0).parts.at("wait"), copies + (3 + 1.2) * us, exact);
}

TEST_F(ModelledSchedules, FiguresAreThoseOfPairAndSize) {
  Flow flow = flow_of("mpi-schedule", once({{0, 1, megabyte}}, 3));
  ScheduleFigures figures = *flow.schedule_figures;
  figures.messages = {{{{0, 1}}, 0, megabyte, {.latency_us = 50}},
                      {{{0, 1}, {1, 0}}, megabyte, 2 * megabyte, {.latency_us = 5, .efficiency = 0.5}}};
  flow.schedule_figures = std::make_shared<ScheduleFigures>(figures);
  EXPECT_NEAR(run(flow), 25 * us, exact);
  flow.schedule = std::make_shared<Schedule>(once({{0, 1, megabyte / 2}}, 3));
  EXPECT_NEAR(run(flow), 55 * us, exact);
  flow.schedule = std::make_shared<Schedule>(once({{0, 2, megabyte}}, 3));
  EXPECT_NEAR(run(flow), 11 * us, exact);
}

TEST_F(ModelledSchedules, PartsAddUpToTheTime) {
  Schedule schedule = halo_of({0, 1}, 2, GridAxis::x, 5000);
  schedule.loops.front().repeats = 7;
  schedule.loops.front().phases.front().collectives = {{NumberType::float64, ReduceOp::min, 1}};
  Flow flow = with_state(flow_of("mpi-schedule", schedule));
  flow.parameters.set("staging", "full");
  const Seconds all = run(flow);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Seconds parts = 0;
    for (const auto& [name, seconds] : told(rank).parts) parts += seconds;
    EXPECT_NEAR(parts, all, exact);
  }
}

TEST_F(ModelledSchedules, DamageOfAMessageNamesItsRanks) {
  Flow flow = flow_of("mpi-schedule", once({{0, 1, megabyte}, {1, 2, 64}, {0, 2, 24}}, 3));
  run(flow);
  ASSERT_FALSE(wrong());
  EXPECT_TRUE(wrong(8));
  flow.parameters.set("inject", "corrupt");
  run(flow);
  ASSERT_TRUE(wrong());
  EXPECT_EQ(wrong()->what, "the message from rank 0 to rank 1 differs at offset 0");
  flow.parameters.set("inject", "error");
  EXPECT_THROW(run(flow), Error);
}

TEST_F(ModelledSchedules, WhatCannotBeIsSaid) {
  Machine machine = three_on_a_switch();
  machine.peer_access = {{gpu(0), gpu(1)}};
  describe(std::move(machine));
  const Schedule two = once({{0, 1, megabyte}, {1, 0, megabyte}}, 2);
  EXPECT_EQ(reason(flow_of("direct-schedule", two)), "gpu:1 has no peer access to gpu:0");
  EXPECT_TRUE(method("xccl-schedule").supports(flow_of("xccl-schedule", two)));

  Flow flow = flow_of("xccl-schedule", two);
  flow.members.back().device = host();
  EXPECT_EQ(reason(flow), "the model of xccl-schedule has GPUs alone as ranks, not numa:0");
  flow = flow_of("mpi-schedule", two);
  flow.members.back().device = gpu(7);
  EXPECT_EQ(reason(flow), "switched has no gpu:7");

  flow = flow_of("mpi-schedule", two);
  flow.schedule_figures = nullptr;
  EXPECT_TRUE(method("mpi-schedule").supports(flow));
  EXPECT_EQ(reason(with_state(flow)), "the description of switched has no figures for packing on gpu:0");
  flow.parameters.set("staging", "full");
  EXPECT_EQ(reason(flow), "the description of switched has no figures for host staging");
  flow.parameters.set("staging", "half");
  EXPECT_THROW((void)method("mpi-schedule").supports(flow), Error);

  flow = flow_of("mpi-schedule", two);
  flow.figures.reset();
  EXPECT_EQ(reason(flow),
            "the description of switched has no figures for mpi-schedule from gpu:0 to gpu:1, 976.6 KiB");
}

TEST_F(ModelledSchedules, TooLittleMemoryIsSaidBeforeItIsWanted) {
  const Flow flow = with_state(flow_of("mpi-schedule", halo_of({0}, 1, GridAxis::x, 70000, 70000)));
  EXPECT_EQ(reason(flow), "the ranks on gpu:0 need 73 GiB of memory; it has 64 GiB");
}

TEST_F(ModelledSchedules, AScheduleIsAlone) {
  const Flow flow = flow_of("mpi-schedule", once({{0, 1, 8}}, 2));
  const ModelledSchedule schedule = method("mpi-schedule");
  EXPECT_TRUE(schedule.supports_in(flow, {"one", {}, {flow}}));
  EXPECT_FALSE(schedule.supports_in(flow, {"two", {}, {flow, flow}}));
}

}  // namespace
}  // namespace linkscope::modelled
