// Parameters of method mpi, and who does what of a flow.
#include <gtest/gtest.h>

#include "backend/mpi/methods.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"
#include "fake_gpus.hpp"

namespace linkscope::mpi {
namespace {

Endpoint at(int rank, const std::string& memory, DeviceKind kind = DeviceKind::numa) {
  return endpoint({kind, 0}, memory, rank);
}

Flow message(const std::string& call) {
  Flow flow;
  flow.method = "mpi";
  flow.bytes = 64;
  flow.source = at(2, "pageable");
  flow.destination = at(5, "huge");
  flow.parameters.set("call", call);
  return flow;
}

class MpiMethods : public ::testing::Test {
 protected:
  std::shared_ptr<MpiContext> context_ = std::make_shared<MpiContext>(
      std::make_shared<host::HostContext>(), MpiLibrary({"/no/mpi", "/no", {}}, threads_single),
      std::vector<DeviceFacts>{}, nullptr);
  Method message_ = mpi_message(context_);
  Method collective_ = mpi_collective(context_);
};

TEST_F(MpiMethods, TheSenderIsTimedUnlessTheReceiverFetches) {
  const auto put = message_.parts(message("put"));
  EXPECT_EQ(put[0].timing, Timing::timed);
  EXPECT_EQ(put[1].timing, Timing::untimed);
  const auto get = message_.parts(message("get"));
  EXPECT_EQ(get[0].timing, Timing::untimed);
  EXPECT_EQ(get[1].timing, Timing::timed);
  EXPECT_EQ(get[0].rank, 2);
  EXPECT_EQ(get[1].rank, 5);
}

TEST_F(MpiMethods, BothEndsHoldBothBuffersWhereDataGoBothWays) {
  for (const char* call : {"both-ways", "ping-pong"}) {
    const auto parts = message_.parts(message(call));
    EXPECT_EQ(parts[0].destination->memory, "pageable") << call;
    EXPECT_EQ(parts[1].source->memory, "huge") << call;
    EXPECT_EQ(parts[1].source->rank, 5) << call;
  }
  EXPECT_FALSE(message_.parts(message("window"))[0].destination);
}

TEST_F(MpiMethods, OperationsAreMessages) {
  EXPECT_EQ(operations_of(message("send")), 1U);
  EXPECT_EQ(operations_of(message("ping-pong")), 2U);
  EXPECT_EQ(operations_of(message("window")), 64U);
  Flow flow = message("both-ways");
  flow.parameters.set("window", "3");
  EXPECT_EQ(operations_of(flow), 6U);
  EXPECT_EQ(operations_of(message("put-window")), 64U);
  EXPECT_EQ(operations_of(message("get")), 1U);
  EXPECT_EQ(message_.quantity_of(message("ping-pong")), Quantity::latency);
  EXPECT_EQ(message_.quantity_of(message("get-window")), Quantity::bandwidth);
  EXPECT_EQ(message_.quantity_of(message("window")), Quantity::bandwidth);
}

TEST_F(MpiMethods, WordsAndNumbersThatMeanNothingAreRefused) {
  EXPECT_THROW(static_cast<void>(message_.parts(message("shout"))), Error);
  Flow flow = message("window");
  flow.parameters.set("window", "0");
  EXPECT_THROW(static_cast<void>(window_of(flow)), Error);
  flow = message("send");
  flow.parameters.set("staging", "library");
  EXPECT_THROW(static_cast<void>(message_.supports(flow)), Error);
}

TEST_F(MpiMethods, EndsMustLieApartAndStagingNeedsAGpu) {
  Flow flow = message("send");
  EXPECT_TRUE(message_.supports(flow));
  flow.parameters.set("staging", "none");
  EXPECT_TRUE(message_.supports(flow));
  flow.parameters.set("staging", "host");
  EXPECT_FALSE(message_.supports(flow)) << "host memory is there already";
  flow.destination = at(5, "device", DeviceKind::gpu);
  EXPECT_FALSE(message_.supports(flow)) << "no runtime to copy with";
  flow = message("send");
  flow.destination = at(2, "pageable");
  EXPECT_FALSE(message_.supports(flow));
}

TEST_F(MpiMethods, ABroadcastsRootHasNoOutputAndAProcessOneMember) {
  Flow flow;
  flow.method = "mpi-collective";
  flow.bytes = 64;
  flow.members = {at(1, "pageable"), at(0, "pageable")};
  flow.parameters.set("collective", "broadcast");
  const auto parts = collective_.parts(flow);
  EXPECT_TRUE(parts[0].source);
  EXPECT_FALSE(parts[0].destination);
  EXPECT_TRUE(parts[1].destination);
  EXPECT_TRUE(collective_.supports(flow));
  flow.members.push_back(at(0, "pageable"));
  EXPECT_FALSE(collective_.supports(flow));
}

TEST_F(MpiMethods, RotatedGpuMemoryOutgrowsTheGpusCache) {
  const auto gpus = std::make_shared<FakeGpus>();
  const auto context = std::make_shared<MpiContext>(std::make_shared<host::HostContext>(),
                                                    MpiLibrary({"/no/mpi", "/no", {}}, threads_single),
                                                    std::vector<DeviceFacts>{}, gpus);
  const Method messages = mpi_message(context);
  Flow flow = message("send");
  const Bytes on_host = messages.rotation_bytes(flow);
  EXPECT_LT(on_host, gpus->rotated);
  flow.destination = at(5, "device", DeviceKind::gpu);
  EXPECT_EQ(messages.rotation_bytes(flow), gpus->rotated);
  flow.source = flow.destination;
  EXPECT_EQ(messages.rotation_bytes(flow), gpus->rotated);
}

TEST_F(MpiMethods, WithoutALibraryTheyAreNotAvailable) {
  EXPECT_NE(message_.available().reason().find("/no/mpi"), std::string::npos);
  EXPECT_FALSE(collective_.available());
}

}  // namespace
}  // namespace linkscope::mpi
