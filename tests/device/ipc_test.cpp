// ipc-copy and ipc-kernel between this test and a second process, which is the same program started again.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "backend/host/host_transfer.hpp"
#include "base/error.hpp"
#include "open_gpus.hpp"
#include "other_process.hpp"

namespace linkscope::testing {
namespace {

constexpr const char* socket_variable = "LINKSCOPE_IPC_TEST_SOCKET";
constexpr int driver_rank = 0;
constexpr int lender_rank = 1;

enum class Way { push, pull };

/// What one process has of a flow.
struct Side {
  std::unique_ptr<Buffer> buffer;
  std::unique_ptr<PreparedParts> local_parts;
};

class IpcSides : public WithGpus {
 protected:
  /// Driven by gpu:0 of rank 0; the other end is on the last GPU of rank 1.
  [[nodiscard]] static Flow flow(const std::string& method, Way way, Bytes bytes, int gpus) {
    Flow flow;
    flow.method = method;
    flow.executor = gpu0;
    flow.rank = driver_rank;
    flow.bytes = bytes;
    const Endpoint near = endpoint(gpu0, "device");
    const Endpoint far = endpoint({DeviceKind::gpu, gpus - 1}, "device", lender_rank);
    flow.source = way == Way::push ? near : far;
    flow.destination = way == Way::push ? far : near;
    return flow;
  }
  [[nodiscard]] int gpus() const { return static_cast<int>(backend_->devices.size()); }
  [[nodiscard]] static Rotation rotation(Bytes bytes, std::uint64_t slots) {
    return {(bytes + 15) / 16 * 16, slots};
  }
  [[nodiscard]] Side side(const Flow& flow, int rank, std::uint64_t slots) const {
    const Method& wanted = method(flow.method);
    if (const Support support = wanted.supports(flow); !support)
      throw Error(Fault::unsupported, support.reason());
    const std::vector<FlowPart> parts = wanted.parts(flow);
    Side side;
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const FlowPart& part = parts[index];
      if (part.rank != rank) continue;
      LocalPart own{index, {nullptr, nullptr, rotation(flow.bytes, slots)}};
      const Endpoint& end = part.source ? *part.source : *part.destination;
      side.buffer = memory(end.memory).allocate(end, own.arenas.rotation.stride * slots);
      (part.source ? own.arenas.source : own.arenas.destination) = side.buffer.get();
      side.local_parts = wanted.assemble(flow, {own});
    }
    return side;
  }
};

/// The other process. Answers one request after another until its partner is gone.
class IpcOtherProcess : public IpcSides {
 protected:
  void SetUp() override {
    if (std::getenv(socket_variable) == nullptr) GTEST_SKIP() << "the other process of Ipc tests";
    IpcSides::SetUp();
  }

  std::string answer(const std::string& request) {
    std::istringstream words(request);
    std::string what;
    std::size_t which = 0;
    words >> what >> which;
    if (what == "lend") return lend(which, words);
    if (what == "drop") return sides_.erase(which) == 1 ? "dropped" : "unknown";
    Transfer& transfer = *sides_.at(which).local_parts->transfers().front();
    std::uint64_t seed = 0;
    std::uint64_t done = 0;
    words >> seed >> done;
    if (what == "arm") {
      transfer.arm(seed);
      return "armed";
    }
    dynamic_cast<host::HostTransfer&>(transfer).count(done);  // as the gate does after a start
    const auto mismatch = transfer.verify(seed);
    return mismatch ? mismatch->what : "right: " + std::to_string(transfer.verified_bytes());
  }

 private:
  std::string lend(std::size_t which, std::istringstream& words) {
    std::string method;
    std::string way;
    Bytes bytes = 0;
    std::uint64_t slots = 0;
    words >> method >> way >> bytes >> slots;
    sides_[which] =
        side(flow(method, way == "push" ? Way::push : Way::pull, bytes, gpus()), lender_rank, slots);
    return sides_[which].local_parts->export_handles();
  }

  std::map<std::size_t, Side> sides_;
};

TEST_F(IpcOtherProcess, Lends) {
  const Channel partner(std::atoi(std::getenv(socket_variable)));
  serve(partner, [&](const std::string& request) { return answer(request); });
}

class Ipc : public IpcSides {
 protected:
  void SetUp() override {
    IpcSides::SetUp();
    if (IsSkipped()) return;
    other_ = std::make_unique<OtherProcess>("IpcOtherProcess.Lends", socket_variable);
  }
  void TearDown() override {
    if (other_ != nullptr) {
      EXPECT_EQ(other_->end(), 0) << "how the other process ended";
    }
  }

  /// This process's side of a flow whose other end process 1 lends as number `which`.
  [[nodiscard]] Side connected(const Flow& flow, Way way, std::size_t which, std::uint64_t slots) const {
    Side driving = side(flow, driver_rank, slots);
    driving.local_parts->import_handles(
        {driving.local_parts->export_handles(), lent(flow, way, which, slots)});
    return driving;
  }
  [[nodiscard]] std::string lent(const Flow& flow, Way way, std::size_t which, std::uint64_t slots) const {
    std::ostringstream request;
    request << "lend " << which << " " << flow.method << (way == Way::push ? " push " : " pull ")
            << flow.bytes << " " << slots;
    return other_->channel().ask(request.str());
  }
  [[nodiscard]] std::string arm(std::size_t which, std::uint64_t seed) const {
    return other_->channel().ask("arm " + std::to_string(which) + " " + std::to_string(seed));
  }
  [[nodiscard]] std::string verify(std::size_t which, std::uint64_t seed, std::uint64_t done) const {
    return other_->channel().ask("verify " + std::to_string(which) + " " + std::to_string(seed) + " " +
                                 std::to_string(done));
  }
  void drop(std::size_t which) const {
    EXPECT_EQ(other_->channel().ask("drop " + std::to_string(which)), "dropped");
  }

 private:
 protected:
  std::unique_ptr<OtherProcess> other_;
};

TEST_F(Ipc, EveryByteArrivesInEverySlotOfTheOtherProcessAndOutOfIt) {
  std::uint64_t seed = 100;
  for (const char* method : {"ipc-copy", "ipc-kernel"}) {
    for (const Way way : {Way::push, Way::pull}) {
      for (const Bytes bytes : {Bytes{1}, Bytes{4097}, 3 * MiB + 9}) {
        {
          const Side driving = connected(flow(method, way, bytes, gpus()), way, 0, 3);
          Transfer& transfer = *driving.local_parts->transfers().front();
          for (const Clock clock : {Clock::device, Clock::host}) {
            ASSERT_EQ(arm(0, ++seed), "armed");
            transfer.arm(seed);
            static_cast<void>(gate().run({{&transfer, 4}}, clock));
            const auto mismatch = transfer.verify(seed);
            EXPECT_FALSE(mismatch) << method << " " << bytes << " B: " << mismatch->what;
            EXPECT_EQ(verify(0, seed, 4), "right: " + std::to_string(way == Way::push ? 3 * bytes : 0));
          }
        }
        drop(0);  // only now: memory must not go while another process has it mapped
      }
    }
  }
}

TEST_F(Ipc, WhatNeverArrivedIsFoundByWhoeverHoldsTheMemory) {
  const Side pushing = connected(flow("ipc-copy", Way::push, 4096, gpus()), Way::push, 0, 2);
  ASSERT_EQ(arm(0, 7), "armed");
  pushing.local_parts->transfers().front()->arm(7);
  static_cast<void>(gate().run({{pushing.local_parts->transfers().front(), 1}}, Clock::device));
  EXPECT_NE(verify(0, 7, 2).find("in slot 1 of 2 arrived wrong in gpu:"), std::string::npos)
      << "the second slot was not written";

  const Side pulling = connected(flow("ipc-copy", Way::pull, 4096, gpus()), Way::pull, 1, 1);
  ASSERT_EQ(arm(1, 8), "armed");
  Transfer& transfer = *pulling.local_parts->transfers().front();
  transfer.arm(9);  // the other process holds another round's data
  static_cast<void>(gate().run({{&transfer, 1}}, Clock::device));
  EXPECT_TRUE(transfer.verify(9));
}

// The runtime cuts small allocations out of one block, for which alone there are handles.
TEST_F(Ipc, SmallNeighboursInOneBlockAreNotTakenForOneAnother) {
  std::vector<Side> sides;
  for (std::size_t i = 0; i < 4; ++i)
    sides.push_back(connected(flow("ipc-kernel", Way::push, 512, gpus()), Way::push, i, 1));
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    ASSERT_EQ(arm(i, 40 + i), "armed");
    sides[i].local_parts->transfers().front()->arm(40 + i);
    lanes.push_back({sides[i].local_parts->transfers().front(), 1});
  }
  static_cast<void>(gate().run(lanes, Clock::device));
  for (std::size_t i = 0; i < sides.size(); ++i) EXPECT_EQ(verify(i, 40 + i, 1), "right: 512");
}

TEST_F(Ipc, AProcessThatLaysItsSlotsOutDifferentlyIsRefused) {
  const Flow wanted = flow("ipc-copy", Way::push, 4096, gpus());
  const Side driving = side(wanted, driver_rank, 2);
  const std::string offer = lent(wanted, Way::push, 0, 3);
  try {
    driving.local_parts->import_handles({"", offer});
    FAIL() << "connected";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::unsupported);
    EXPECT_NE(std::string(error.what()).find("3 and 2 slots"), std::string::npos) << error.what();
  }
}

/// What needs no GPU.
class IpcFlow : public ::testing::Test {
 protected:
  [[nodiscard]] const Method& method(const std::string& name) const {
    for (const Method& method : backend_->methods) {
      if (method.name() == name) return method;
    }
    throw std::out_of_range(name);
  }
  [[nodiscard]] static Flow push() {
    Flow flow;
    flow.executor = gpu0;
    flow.bytes = 4096;
    flow.source = endpoint(gpu0, "device");
    flow.destination = flow.source;
    flow.destination->rank = lender_rank;
    return flow;
  }
  [[nodiscard]] std::string refusal(const Flow& flow) const {
    const Support support = method("ipc-copy").supports(flow);
    return support ? std::string() : support.reason();
  }

  std::shared_ptr<host::HostContext> host_ = std::make_shared<host::HostContext>();
  std::optional<Backend> backend_ = open_gpus(host_, 8);
};

TEST_F(IpcFlow, NeedsTwoProcessesOfWhichTheDriverHoldsOneEnd) {
  EXPECT_EQ(refusal(push()), "");
  Flow within = push();
  within.destination->rank = driver_rank;
  EXPECT_NE(refusal(within).find("both ends belong to rank 0: copy-engine"), std::string::npos);
  Flow elsewhere = push();
  elsewhere.rank = 2;
  EXPECT_NE(refusal(elsewhere).find("rank 2 holds neither end"), std::string::npos);
  Flow empty = push();
  empty.bytes = 0;
  EXPECT_NE(refusal(empty), "");
}

TEST_F(IpcFlow, MapsOnlyMemoryThatHasAHandleButDrivesFromAny) {
  for (const char* memory : {"managed", "pool", "vmm", "xccl"}) {
    Flow flow = push();
    move_to(*flow.destination, memory);
    EXPECT_NE(refusal(flow).find("no IPC handle"), std::string::npos) << memory;
    std::swap(flow.source, flow.destination);
    flow.rank = lender_rank;  // pushes out of that memory
    flow.executor = gpu0;
    EXPECT_EQ(refusal(flow), "") << memory;
  }
  Flow host = push();
  host.destination = endpoint({DeviceKind::numa, 0}, "pinned", lender_rank);
  EXPECT_NE(refusal(host).find("pinned memory of numa:0 has no IPC handle"), std::string::npos);
}

TEST_F(IpcFlow, IsTwoPartsOfWhichTheDriverAloneIsTimed) {
  Flow flow = push();
  const std::vector<FlowPart> pushed = method("ipc-kernel").parts(flow);
  ASSERT_EQ(pushed.size(), 2U);
  EXPECT_EQ(pushed[0].timing, Timing::timed);
  EXPECT_TRUE(pushed[0].source && !pushed[0].destination && pushed[0].rank == driver_rank);
  EXPECT_EQ(pushed[1].timing, Timing::untimed);
  EXPECT_TRUE(pushed[1].destination && !pushed[1].source && pushed[1].rank == lender_rank);
  flow.rank = lender_rank;
  const std::vector<FlowPart> pulled = method("ipc-kernel").parts(flow);
  EXPECT_TRUE(pulled[0].destination && !pulled[0].source && pulled[0].rank == lender_rank);
  EXPECT_TRUE(pulled[1].source && !pulled[1].destination && pulled[1].rank == driver_rank);
}

}  // namespace
}  // namespace linkscope::testing
