// A started MPI: communicators, turns, tags, and failures on the way to a row.
#include "backend/mpi/library.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "backend/host/backend.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/mpi/methods.hpp"
#include "fake_mpi.hpp"

namespace linkscope::mpi {
namespace {

class MpiRuntimeTest : public ::testing::Test {
 protected:
  MpiRuntimeTest()
      : node_(host_->topology().nearest_with_cpus(0).index),
        caller_{node_, {DeviceKind::numa, node_}, nullptr} {}

  /// Two floats in, two out, in one slot.
  Arenas arenas() { return {&source_, &destination_, {8, 1}}; }

  static CollectiveShape shape(ElementType type = ElementType::float32) {
    return {CollectiveKind::all_reduce, type, InPlace::out, 1, 8};
  }
  static Flow flow(const std::string& call) {
    Flow flow;
    flow.bytes = 8;
    flow.parameters.set("call", call);
    return flow;
  }

  FakeMpi& mpi_ = FakeMpi::reset();
  std::shared_ptr<host::HostContext> host_ = std::make_shared<host::HostContext>();
  int node_;
  Caller caller_;
  std::unique_ptr<Gate> own_gate_ = host::host_gate(host_);
  Gate& gate_ = *own_gate_;
  std::vector<std::byte> memory_{16};
  host::HostBuffer source_{{}, 8, memory_.data(), {}, host_->workers(node_)};
  host::HostBuffer destination_{{}, 8, memory_.data() + 8, {}, host_->workers(node_)};
};

TEST_F(MpiRuntimeTest, SaysItsVersionInOneShortLine) {
  EXPECT_EQ(MpiRuntime(FakeMpi::table(), threads_single).version(), "Fake MPI v1.2");
}

TEST_F(MpiRuntimeTest, OneThreadStartsCallsAndEndsMpi) {
  MpiRuntime runtime(FakeMpi::table(), threads_single, [] { FakeMpi::called(); });
  EXPECT_NE(runtime.communicator({1, 0}), 0U);
  EXPECT_FALSE(runtime.takes_gpu_memory());
  {
    MpiCollectiveTransfer reduction(runtime, shape(), MpiMember{0, caller_, arenas()});
    reduction.connect(1, runtime.world());
    reduction.arm(1);
    gate_.run({{&reduction, 3}}, Clock::host);
    EXPECT_EQ(mpi_.reductions, 3);
  }
  EndTransfer(runtime, flow("put"),
              End{Side::destination, caller_, {&source_, nullptr, {8, 1}}, nullptr, nullptr})
      .connect(1, runtime.world(), 1, {});
  runtime.finish();
  EXPECT_EQ(mpi_.callers.size(), 1U);
  EXPECT_FALSE(mpi_.callers.contains(std::this_thread::get_id()));
}

TEST_F(MpiRuntimeTest, WhatItsThreadThrowsReachesTheCaller) {
  EXPECT_THROW(MpiRuntime(FakeMpi::table(), threads_single, [] { throw Error(Fault::no_memory, "none"); }),
               Error);
  const MpiRuntime runtime(FakeMpi::table(), threads_single);
  EXPECT_THROW(runtime.in_its_thread([] { throw Error(Fault::no_memory, "none"); }), Error);
  int calls = 0;
  runtime.in_its_thread([&] { ++calls; });
  EXPECT_EQ(calls, 1) << "and the thread goes on";
}

TEST_F(MpiRuntimeTest, SaysWhichThreadsItServesWhereTheyAreNotTheUsualOne) {
  EXPECT_EQ(MpiRuntime(FakeMpi::table(), threads_single).threads(), "");
  mpi_.threads = threads_funneled;
  EXPECT_EQ(MpiRuntime(FakeMpi::table(), threads_single).threads(), "MPI_THREAD_FUNNELED");
  mpi_.threads = threads_multiple;
  const MpiRuntime unasked(FakeMpi::table(), threads_single);
  EXPECT_EQ(unasked.threads(), "MPI_THREAD_MULTIPLE");
  EXPECT_NE(unasked.worker(), nullptr) << "one thread calls it all the same";
  EXPECT_EQ(MpiRuntime(FakeMpi::table(), threads_multiple).worker(), nullptr);
  mpi_.threads = threads_single;
  EXPECT_EQ(MpiRuntime(FakeMpi::table(), threads_multiple).threads(),
            "MPI_THREAD_SINGLE, not the MPI_THREAD_MULTIPLE asked for");
}

TEST_F(MpiRuntimeTest, SaysWhereItHasLeftTheGpuThatItFirstMet) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  const DeviceId first{DeviceKind::gpu, 1};
  const DeviceId second{DeviceKind::gpu, 0};
  runtime.visit({DeviceKind::numa, 0});
  runtime.visit(first);
  runtime.visit(second);
  EXPECT_EQ(runtime.away_from_home(first), "");
  EXPECT_EQ(runtime.away_from_home({DeviceKind::numa, 0}), "");
  EXPECT_NE(runtime.away_from_home(second).find("gpu:1 before"), std::string::npos);
  caller_.device = second;
  const std::string remark = runtime.away_from_home(second);
  EXPECT_EQ(MpiCollectiveTransfer(runtime, shape(), MpiMember{0, caller_, arenas()}).notes().back(), remark);
  caller_.hands_over = false;
  EXPECT_NE(MpiCollectiveTransfer(runtime, shape(), MpiMember{0, caller_, arenas()}).notes().back(), remark);
}

TEST_F(MpiRuntimeTest, ACommunicatorIsMadeOncePerListOfRanks) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  EXPECT_EQ(runtime.communicator({0, 1}), runtime.world());
  EXPECT_EQ(mpi_.splits, 0);
  const MpiHandle reversed = runtime.communicator({1, 0});
  EXPECT_EQ(runtime.communicator({1, 0}), reversed);
  EXPECT_EQ(mpi_.splits, 1);
  EXPECT_EQ(runtime.communicator({1}), 0U) << "this is rank 0";
}

TEST_F(MpiRuntimeTest, OneTransferAtATimeUnlessThreadsAreMultiple) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  auto first = std::make_unique<MpiCollectiveTransfer>(runtime, shape(), MpiMember{0, caller_, arenas()});
  EXPECT_THROW(MpiCollectiveTransfer(runtime, shape(), MpiMember{0, caller_, arenas()}), Error);
  first.reset();
  EXPECT_NO_THROW(MpiCollectiveTransfer(runtime, shape(), MpiMember{0, caller_, arenas()}));
  mpi_.threads = threads_multiple;
  MpiRuntime many(FakeMpi::table(), threads_multiple);
  MpiCollectiveTransfer one(many, shape(), MpiMember{0, caller_, arenas()});
  EXPECT_NO_THROW(MpiCollectiveTransfer(many, shape(), MpiMember{0, caller_, arenas()}));
  EXPECT_EQ(one.own_worker(), nullptr) << "each has a thread of its own";
}

TEST_F(MpiRuntimeTest, NoTwoCollectivesHoldTheSameRanks) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  auto held = runtime.hold({0, 1});
  EXPECT_THROW(static_cast<void>(runtime.hold({0, 1})), Error);
  EXPECT_NO_THROW(static_cast<void>(runtime.hold({1, 0})));
  held.reset();
  EXPECT_NO_THROW(static_cast<void>(runtime.hold({0, 1})));
}

TEST_F(MpiRuntimeTest, FlowsHaveTagsOfTheirOwnWithinWhatEveryMpiHas) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  const Tags first = runtime.tags();
  const Tags second = runtime.tags();
  EXPECT_GT(second.message, first.answer);
  for (int i = 0; i < 40000; ++i) ASSERT_LE(runtime.tags().answer, 32767);
}

TEST_F(MpiRuntimeTest, SumsThatItDoesNotKnowAreRefusedNotFaked) {
  const auto said = [&] {
    MpiRuntime runtime(FakeMpi::table(), threads_single);
    try {
      MpiCollectiveTransfer(runtime, shape(ElementType::bfloat16), MpiMember{0, caller_, arenas()});
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::unsupported);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(said(),
            "Fake MPI v1.2: the standard ABI has no bfloat16; its own mpi.h may: build linkscope with "
            "its mpicc, as by `MPICC=PATH make setup`");
  mpi_.header = header_of_site;
  EXPECT_EQ(said(), "Fake MPI v1.2: its mpi.h has no bfloat16");
  mpi_.half = sum_refused;
  EXPECT_EQ(said(), "Fake MPI v1.2 has no sum of bfloat16 elements");
  mpi_.half = sum_wrong;
  EXPECT_EQ(said(), "Fake MPI v1.2 adds up bfloat16 elements wrongly: 1 and 1 are not 2");
  mpi_.half = sum_right;
  EXPECT_EQ(said(), "");
}

TEST_F(MpiRuntimeTest, OnTheHostClockABarrierKeepsCallsApartAndOnTheBatchClockNothingDoes) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  MpiCollectiveTransfer transfer(runtime, shape(), MpiMember{0, caller_, arenas()});
  transfer.connect(1, runtime.world());
  transfer.arm(1);
  mpi_.barrier_time = std::chrono::microseconds(100);
  const Span apart = gate_.run({{&transfer, 50}}, Clock::host).front();
  EXPECT_EQ(mpi_.barriers, 51);
  EXPECT_EQ(mpi_.reductions, 50);
  const Span counted = transfer.counted(apart);
  EXPECT_GE(counted.start, apart.start);
  EXPECT_LT(counted.length(), 49 * 100e-6) << "the barriers do not count";
  EXPECT_GE(counted.end - counted.start, 49 * 100e-6) << "and are in the span, by which an aggregate goes";
  EXPECT_GE(counted.idle, apart.idle);
  gate_.run({{&transfer, 50}}, Clock::batch);
  EXPECT_EQ(mpi_.barriers, 53) << "before the first and after the last";
  EXPECT_EQ(transfer.verify(1), std::nullopt);
  EXPECT_NE(transfer.verify(2), std::nullopt);
}

TEST_F(MpiRuntimeTest, InPlaceOnlyTheRootOfAReduceSaysSo) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  for (const int index : {0, 1}) {
    const CollectiveShape reduce{CollectiveKind::reduce, ElementType::float32, InPlace::in, 2, 8};
    MpiCollectiveTransfer transfer(runtime, reduce,
                                   MpiMember{index, caller_, {nullptr, &destination_, {8, 1}}});
    EXPECT_TRUE(transfer.facts().accumulates);
    transfer.connect(1, runtime.world());
    transfer.arm(1);
    gate_.run({{&transfer, 1}}, Clock::host);
    EXPECT_EQ(mpi_.last_input, index == 0 ? nullptr : destination_.data());
  }
}

TEST_F(MpiRuntimeTest, AFailedCallIsAnErrorWithMpisWordsAndTheLastOneMade) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  EndTransfer end(runtime, flow("send"),
                  {Side::source, caller_, {&source_, nullptr, {8, 1}}, nullptr, nullptr});
  end.connect(1, runtime.world(), 1, {10, 11, 12});
  end.arm(1);
  gate_.run({{&end, 3}}, Clock::host);
  EXPECT_EQ(mpi_.sends, 3);
  EXPECT_EQ(mpi_.last_tag, 10);
  mpi_.send_code = 7;
  try {
    gate_.run({{&end, 3}}, Clock::host);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::broken);
    EXPECT_STREQ(error.what(), "MPI_Send, MPI_Recv: the wire broke (7)");
  }
  EXPECT_EQ(mpi_.sends, 4) << "it stops at the first";
  EXPECT_THROW(gate_.run({{&end, 3}}, Clock::host), Error);
  EXPECT_EQ(mpi_.sends, 4) << "and calls MPI no more";
}

TEST_F(MpiRuntimeTest, AWindowIsWithdrawnByAllOrByNone) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  const auto make = [&] {
    auto end = std::make_unique<EndTransfer>(
        runtime, flow("put"), End{Side::source, caller_, {&source_, nullptr, {8, 1}}, nullptr, nullptr});
    end->connect(1, runtime.world(), 1, {});
    return end;
  };
  make()->finish();
  EXPECT_EQ(mpi_.windows, 0);
  make().reset();
  EXPECT_EQ(mpi_.windows, 1) << "after a failure, to withdraw it would wait forever for who is gone";
}

TEST_F(MpiRuntimeTest, EmptyMessagesNeedNoMemory) {
  MpiRuntime runtime(FakeMpi::table(), threads_single);
  Flow empty = flow("send");
  empty.bytes = 0;
  EndTransfer end(runtime, empty, {Side::source, caller_, {nullptr, nullptr, {0, 1}}, nullptr, nullptr});
  end.connect(1, runtime.world(), 1, {});
  end.arm(1);
  gate_.run({{&end, 2}}, Clock::host);
  EXPECT_EQ(end.verify(1), std::nullopt);
  EXPECT_EQ(end.verified_bytes(), 0U);
}

}  // namespace
}  // namespace linkscope::mpi
