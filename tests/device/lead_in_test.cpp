// A lead-in wakes the engine that will copy and delivers nothing: a copy that then does nothing is found.
#include <array>
#include <map>
#include <string>

#include "backend/gpu/transfer.hpp"
#include "prepared_flow.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;

struct Copy {
  const char* method;
  std::map<std::string, std::string> parameters;
};

class LeadIns : public WithFlows {
 protected:
  /// Arms, leads in and has nothing copied, though the transfer is told that one copy ran; whether verify() finds that.
  [[nodiscard]] bool nothing_is_found(const Flow& flow) {
    const Prepared prepared = prepare(flow);
    auto& work = dynamic_cast<gpu::GpuTransfer&>(*prepared.transfer);
    work.arm(seed);
    gpuStream_t stream = nullptr;
    EXPECT_EQ(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking), gpuSuccess);
    work.lead_in(stream);
    EXPECT_EQ(gpuStreamSynchronize(stream), gpuSuccess);
    EXPECT_EQ(gpuStreamDestroy(stream), gpuSuccess);
    work.count_as_run(1);
    return work.verify(seed).has_value();
  }
};

TEST_F(LeadIns, DeliverNothingOfAnySize) {
  const std::array<Copy, 7> copies = {{{"copy-engine", {}},
                                       {"copy-engine", {{"graph", "2"}}},
                                       {"copy-engine-2d", {}},
                                       {"copy-engine-3d", {}},
                                       {"pack-copy-unpack", {}},
                                       {"copy-batch", {{"api", "loop"}, {"count", "1"}}},
                                       {"copy-batch", {{"api", "batch"}, {"count", "1"}}}}};
  for (const auto& [name, parameters] : copies) {
    for (const auto& [source, destination] :
         {std::pair{"pinned", "device"}, {"device", "registered"}, {"device", "device"}}) {
      for (const Bytes bytes : {Bytes{1}, Bytes{256}, 4 * KiB, 64 * KiB, MiB}) {
        const Flow wanted = flow(name, source, destination, bytes, parameters);
        if (!refusal(wanted).empty()) continue;
        EXPECT_TRUE(nothing_is_found(wanted))
            << name << ", " << bytes << " B from " << source << " to " << destination;
      }
    }
  }
}

TEST_F(LeadIns, BetweenTwoGpusDeliverNothing) {
  if (backend_->devices.size() < 2 || backend_->peer_access.empty()) GTEST_SKIP() << "needs two GPUs";
  for (const char* api : {"memcpy", "peer"}) {
    Flow wanted = flow("copy-engine", "device", "device", 4 * KiB, {{"api", api}});
    wanted.destination = endpoint({DeviceKind::gpu, 1}, "device");
    EXPECT_TRUE(nothing_is_found(wanted)) << api;
  }
}

}  // namespace
}  // namespace linkscope::testing
