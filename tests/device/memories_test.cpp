// What memories of the GPU backend refuse, share with peers and count. buffer_test.cpp has what all of them do.
#include <numaif.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "open_gpus.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;
constexpr DeviceId gpu1{DeviceKind::gpu, 1};
[[nodiscard]] Bytes host_memory() {
  return static_cast<Bytes>(sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

constexpr DeviceId numa0{DeviceKind::numa, 0};

/// The memory policy of a node's worker thread, and whether the system tells.
std::optional<int> policy_of_worker(host::HostContext& host) {
  int mode = -1;
  bool known = false;
  host.workers(0).run([&] { known = get_mempolicy(&mode, nullptr, 0, nullptr, 0) == 0; });
  return known ? std::optional<int>(mode) : std::nullopt;
}

class GpuMemories : public WithGpus {
 protected:
  [[nodiscard]] bool has(const std::string& name) const {
    return static_cast<bool>(memory(name).available());
  }
  [[nodiscard]] bool reaches_system_memory() const {
    return backend_->devices.front().attributes.at("pageable_memory_access") == "yes";
  }
  [[nodiscard]] static Endpoint bound(const std::string& name, DeviceId device) {
    return endpoint(device, name);
  }
  [[nodiscard]] static Flow copy(const std::string& method, const Endpoint& source,
                                 const Endpoint& destination) {
    Flow flow;
    flow.method = method;
    flow.source = source;
    flow.destination = destination;
    flow.executor = gpu0;
    flow.bytes = 3 * MiB + 9;
    return flow;
  }
  void expect_delivers(const Flow& flow) {
    Prepared prepared = prepare(flow, 2);
    prepared.transfer->arm(seed);
    static_cast<void>(gate().run({{prepared.transfer.get(), 3}}, Clock::device));
    const auto mismatch = prepared.transfer->verify(seed);
    EXPECT_FALSE(mismatch) << flow.method << ", " << flow.source->memory << " to " << flow.destination->memory
                           << ": " << mismatch->what;
  }
};

TEST_F(GpuMemories, AreCopiedIntoOneAnotherByEngineAndKernel) {
  for (const char* from : {"pool", "vmm", "xccl", "device", "pinned"}) {
    for (const char* to : {"pool", "vmm", "xccl", "device", "pinned"}) {
      for (const char* method : {"copy-engine", "kernel-copy"}) {
        if (has(from) && has(to)) expect_delivers(copy(method, at(from), at(to)));
      }
    }
  }
}

TEST_F(GpuMemories, OfAPeerAreReachedWhetherAllocatedBeforeOrAfterAccessWasSwitchedOn) {
  if (backend_->peer_access.empty()) GTEST_SKIP() << "needs two GPUs with peer access";
  for (const char* name : {"pool", "vmm", "xccl"}) {
    if (!has(name)) continue;
    // The first pair finds the switch off, the second on.
    for (int turn = 0; turn < 2; ++turn) {
      for (const char* method : {"kernel-copy", "copy-engine"}) {
        expect_delivers(copy(method, bound(name, gpu1), bound("device", gpu0)));
        expect_delivers(copy(method, bound("device", gpu0), bound(name, gpu1)));
      }
    }
  }
}

TEST_F(GpuMemories, OfAPeerAreReachedAfterAccessWentOffAndOnAgain) {
  if (backend_->peer_access.empty()) GTEST_SKIP() << "needs two GPUs with peer access";
  for (const char* name : {"pool", "vmm", "xccl"}) {
    if (!has(name)) continue;
    Flow staged = copy("copy-engine", bound(name, gpu1), bound(name, gpu0));
    staged.parameters.set("peer_access", "off");
    try {
      expect_delivers(staged);
    } catch (const Error& refused) {  // a driver may copy such memory only where access is granted
      EXPECT_EQ(refused.fault(), Fault::unsupported) << name << ": " << refused.what();
    }
    expect_delivers(copy("kernel-copy", bound(name, gpu1), bound(name, gpu0)));
  }
}

TEST_F(GpuMemories, OfAGpuAreRefusedOnTheHostAndWhereFirstTouchIsAskedFor) {
  for (const char* name : {"device", "pool", "vmm", "xccl"}) {
    if (!has(name)) continue;
    EXPECT_FALSE(memory(name).supports(bound(name, numa0))) << name;
    EXPECT_FALSE(memory(name).supports(bound(name, {DeviceKind::gpu, 99}))) << name;
    Endpoint touched = bound(name, gpu0);
    touched.placement = Placement::first_touch;
    EXPECT_NE(memory(name).supports(touched).reason().find("always bound"), std::string::npos) << name;
  }
}

TEST_F(GpuMemories, ThatAnotherVendorHasNameIt) {
  for (const char* name : {"fine-grained", "coarse-grained"}) {
    if (backend_->name != "cuda") continue;
    ASSERT_FALSE(memory(name).available()) << name;
    EXPECT_NE(memory(name).available().reason().find("AMD"), std::string::npos);
  }
}

TEST_F(GpuMemories, AreRefusedRatherThanOvercommitted) {
  const Bytes too_much = backend_->devices.front().memory_bytes + 4 * GiB;
  for (const char* name : {"device", "pool", "vmm", "xccl", "managed"}) {
    if (!has(name)) continue;
    try {
      static_cast<void>(memory(name).allocate(bound(name, gpu0), too_much));
      ADD_FAILURE() << name << " gave more than there is";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::no_memory) << name << ": " << error.what();
    }
  }
}

TEST_F(GpuMemories, ThatMigrateAreCountedTogetherEvenWhileTheyLieOnTheHost) {
  if (!has("managed")) GTEST_SKIP();
  Endpoint on_host = bound("managed", numa0);
  on_host.placement = Placement::first_touch;
  const Bytes some = 64 * MiB;
  auto kept = memory("managed").allocate(on_host, some);
  const Bytes all = backend_->devices.front().memory_bytes;
  if (host_memory() < all + 4 * GiB) GTEST_SKIP() << "the host, which is asked first, holds less than a GPU";
  const auto refused = [&](Bytes bytes) {
    try {
      static_cast<void>(memory("managed").allocate(on_host, bytes));
      return std::string();
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::no_memory);
      return std::string(error.what());
    }
  };
  EXPECT_NE(refused(all).find("64 MiB"), std::string::npos);
  for (const char* name : {"device", "pool", "vmm", "xccl"}) {
    if (!has(name)) continue;
    try {
      static_cast<void>(memory(name).allocate(bound(name, gpu0), all));
      ADD_FAILURE() << name << " took what managed memory may ask for";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("64 MiB of it may be asked for"), std::string::npos)
          << error.what();
    }
  }
  kept.reset();
  EXPECT_NE(refused(all + GiB).find("0 B"), std::string::npos);
  EXPECT_EQ(refused(some), "");
}

TEST_F(GpuMemories, ThatMigrateTakeAdviceAndOthersSayThatTheyDoNot) {
  EXPECT_FALSE(memory("pinned").takes_advice());
  EXPECT_FALSE(memory("device").takes_advice());
  ASSERT_TRUE(memory("managed").takes_advice());
  if (!has("managed")) GTEST_SKIP();
  for (const DeviceId& home : {gpu0, numa0}) {
    for (const char* words :
         {"read-mostly", "accessed-by", "preferred-location", "read-mostly+accessed-by"}) {
      Endpoint advised = bound("managed", home);
      advised.placement = Placement::first_touch;
      advised.advice = words;
      ASSERT_TRUE(memory("managed").supports(advised)) << words;
      auto buffer = memory("managed").allocate(advised, 4 * MiB);
      buffer->fill(0, 4 * MiB, seed);
      EXPECT_EQ(buffer->compare(0, 4 * MiB, seed), std::nullopt) << words << " on " << home.text();
    }
  }
  Endpoint wrong = bound("managed", gpu0);
  wrong.advice = "keep-off";
  EXPECT_THROW(static_cast<void>(memory("managed").supports(wrong)), Error);
  wrong.advice = "coarse-grained";
  EXPECT_EQ(static_cast<bool>(memory("managed").supports(wrong)), backend_->name == "hip");
}

TEST_F(GpuMemories, OfTheSystemAreTouchedFirstByAGpuWhereItReachesThem) {
  for (const char* name : {"pageable", "huge"}) {
    if (!has(name)) continue;
    Endpoint touched = endpoint(numa0, name);
    touched.placement = Placement::first_touch;
    touched.first_touch = gpu0;
    Endpoint on_gpu = touched;
    on_gpu.device = gpu0;
    const Support support = memory(name).supports(touched);
    ASSERT_EQ(static_cast<bool>(support), reaches_system_memory()) << name;
    EXPECT_FALSE(memory(name).supports(on_gpu)) << name;
    if (!support) {
      EXPECT_NE(support.reason().find("no pageable memory access"), std::string::npos) << support.reason();
      continue;
    }
    auto buffer = memory(name).allocate(touched, 4 * MiB);
    buffer->fill(0, 4 * MiB, seed);
    EXPECT_EQ(buffer->compare(0, 4 * MiB, seed), std::nullopt) << name;
    EXPECT_EQ(buffer->residence(), "touched first by gpu:0");
  }
}

TEST_F(GpuMemories, LeaveTheThreadThatPinsItsOwnPolicy) {
  const unsigned long first_node = 1;
  bool set = false;
  host_->workers(0).run(
      [&] { set = set_mempolicy(MPOL_PREFERRED, &first_node, 8 * sizeof first_node) == 0; });
  if (!set || policy_of_worker(*host_) != MPOL_PREFERRED) GTEST_SKIP() << "no memory policies here";
  const auto buffer = memory("pinned").allocate(bound("pinned", numa0), 64 * KiB);
  EXPECT_EQ(policy_of_worker(*host_), MPOL_PREFERRED);
  host_->workers(0).run([] { static_cast<void>(set_mempolicy(MPOL_DEFAULT, nullptr, 0)); });
}

}  // namespace
}  // namespace linkscope::testing
