// Calls of the GPU's runtime: made as often as they should, with the effect they should have, and refused with a
// reason.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/graph/graphs.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/host/backend.hpp"
#include "base/error.hpp"
#include "open_gpus.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;

/// Work for a stream that does nothing and counts how often it is asked to flush.
class FlushCounter final : public gpu::GpuTransfer {
 public:
  explicit FlushCounter(int& flushes) : flushes_(flushes) {}
  [[nodiscard]] int device() const override { return 0; }
  void enqueue(gpuStream_t /*stream*/, std::uint64_t /*repeats*/) override {}
  void arm(std::uint64_t /*seed*/) override {}
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override { return std::nullopt; }
  [[nodiscard]] Bytes verified_bytes() const override { return 0; }
  void flush() override { ++flushes_; }

 private:
  int& flushes_;
};

class GpuCalls : public WithGpus {
 protected:
  [[nodiscard]] static Flow call(const std::string& method, Bytes bytes = 4096) {
    Flow flow;
    flow.method = method;
    flow.executor = gpu0;
    flow.bytes = bytes;
    return flow;
  }
  [[nodiscard]] Flow call_on(const std::string& method, const std::string& memory, DeviceKind lies_on,
                             Bytes bytes) const {
    Flow flow = call(method, bytes);
    flow.destination = endpoint({lies_on, 0}, memory);
    return flow;
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow) const {
    EXPECT_EQ(method(flow.method).footprint(flow), 0U);
    if (const Support support = method(flow.method).supports(flow); !support)
      throw Error(Fault::unsupported, support.reason());
    return method(flow.method).prepare(flow, {});
  }
  /// Three starts on either clock, as a case makes them; what verify says.
  [[nodiscard]] std::optional<Mismatch> run(Transfer& transfer) {
    std::optional<Mismatch> wrong;
    Gate& gate = host_gate_.accepts(transfer) ? host_gate_ : *backend_->gate;
    for (const Clock clock : {Clock::host, Clock::device}) {
      transfer.arm(seed);
      for (std::uint64_t start = 1; start < 4; ++start) {
        transfer.restore();
        const auto spans =
            gate.run({{&transfer, std::min<std::uint64_t>(start, transfer.facts().max_repeats)}}, clock);
        EXPECT_GT(spans.front().length(), 0);
      }
      if (!wrong) wrong = transfer.verify(seed);
    }
    return wrong;
  }
  void expect_right(const Flow& flow, const std::string& what) {
    try {
      const auto transfer = prepare(flow);
      const auto wrong = run(*transfer);
      EXPECT_FALSE(wrong) << flow.method << " " << what << ": " << wrong->what;
    } catch (const Error& error) {
      ADD_FAILURE() << flow.method << " " << what << ": " << error.what();
    }
  }
  [[nodiscard]] bool has(const std::string& name, DeviceKind lies_on) const {
    const Memory& kind = memory(name);
    return kind.available() && kind.supports(endpoint({lies_on, 0}, name));
  }

  std::unique_ptr<Gate> own_gate_ = host::host_gate(host_);
  Gate& host_gate_ = *own_gate_;
};

TEST_F(GpuCalls, LaunchesAreCountedAtEveryArgumentSize) {
  for (const Bytes bytes : gpu::argument_sizes()) {
    Flow flow = call("launch");
    flow.parameters.set("argument_bytes", std::to_string(bytes));
    expect_right(flow, std::to_string(bytes) + " B");
  }
}

TEST_F(GpuCalls, FullQueuesOfLaunchesGetThrough) {
  const auto transfer = prepare(call("launch"));
  transfer->arm(seed);
  for (int start = 0; start < 20; ++start) {
    transfer->restore();
    host_gate_.run({{transfer.get(), transfer->facts().max_repeats}}, Clock::host);
  }
  const auto wrong = transfer->verify(seed);
  EXPECT_FALSE(wrong) << wrong->what;
}

TEST_F(GpuCalls, CopiesTimedUntilTheirCallReturnsStillDeliver) {
  Flow copy = call("copy-engine", 10 * KiB);
  copy.source = endpoint(gpu0, "device");
  copy.destination = endpoint({DeviceKind::numa, 0}, "pinned");
  copy.parameters.set("until", "return");
  const auto source = memory("device").allocate(*copy.source, copy.bytes);
  const auto destination = memory("pinned").allocate(*copy.destination, copy.bytes);
  for (const char* name : {"copy-engine", "kernel-copy"}) {
    const auto transfer =
        method(name).prepare(copy, {source.get(), destination.get(), Rotation{copy.bytes, 1}});
    EXPECT_TRUE(host_gate_.accepts(*transfer)) << name;
    const auto wrong = run(*transfer);
    EXPECT_FALSE(wrong) << name << ": " << wrong->what;
    destination->poison(0, 8);
    EXPECT_TRUE(transfer->verify(seed)) << name;
    Flow recorded = copy;
    recorded.parameters.set("graph", "20");
    const auto launch =
        method(name).prepare(recorded, {source.get(), destination.get(), Rotation{copy.bytes, 1}});
    EXPECT_EQ(launch->facts().operations, 20 * transfer->facts().operations) << name << ": time per transfer";
    const auto bad = run(*launch);
    EXPECT_FALSE(bad) << name << ": " << bad->what;
  }
}

TEST_F(GpuCalls, CopiesWithTheirSetupDeliverAndDamageIsFound) {
  struct Way {
    const char* setup;
    const char* source;
    const char* destination;
  };
  for (const Way way : {Way{"register", "pageable", "device"}, Way{"register", "device", "pageable"},
                        Way{"first-use", "pageable", "device"}, Way{"allocate", "pinned", "device"},
                        Way{"allocate", "pageable", "pool"}, Way{"allocate", "device", "pinned"}}) {
    for (const Bytes bytes : {Bytes{1000}, 3 * MiB + 5}) {
      Flow flow = call("copy-with-setup", bytes);
      flow.source = at(way.source);
      flow.destination = at(way.destination);
      flow.parameters.set("setup", way.setup);
      const Prepared prepared = WithGpus::prepare(flow, 3);
      const auto wrong = run(*prepared.transfer);
      EXPECT_FALSE(wrong) << way.setup << " " << way.source << ": " << wrong->what;
      EXPECT_GE(prepared.transfer->verified_bytes(), 3 * bytes);
      prepared.destination->poison(0, 8);
      EXPECT_TRUE(prepared.transfer->verify(seed)) << way.setup;
    }
  }
}

TEST_F(GpuCalls, CopiesWithSetupSayWhatTheyCannotSetUp) {
  const auto refused = [this](const char* setup, const char* source, const char* destination) {
    Flow flow = call("copy-with-setup", MiB);
    flow.source = at(source);
    flow.destination = at(destination);
    flow.parameters.set("setup", setup);
    return method(flow.method).supports(flow).reason();
  };
  EXPECT_NE(refused("register", "pinned", "device").find("not pinned"), std::string::npos);
  EXPECT_NE(refused("first-use", "device", "registered").find("not registered"), std::string::npos);
  EXPECT_NE(refused("allocate", "device", "pageable").find("not pageable"), std::string::npos);
  EXPECT_NE(refused("allocate", "device", "device").find("host memory"), std::string::npos);
}

TEST_F(GpuCalls, SynchronizeAndEventRecordRun) {
  for (const char* what : {"device", "stream", "event"}) {
    Flow flow = call("synchronize");
    flow.parameters.set("what", what);
    expect_right(flow, what);
  }
  expect_right(call("event-record"), "");
}

TEST_F(GpuCalls, SynchronizeWaitsForTheWorkItWasGiven) {
  for (const char* what : {"device", "stream", "event"}) {
    Flow flow = call("synchronize");
    flow.parameters.set("what", what);
    flow.parameters.set("work_us", "200");
    const auto transfer = prepare(flow);
    transfer->arm(seed);
    transfer->restore();
    const auto spans = host_gate_.run({{transfer.get(), 5}}, Clock::host);
    EXPECT_GT(spans.front().length(), 5 * 150e-6) << what << ": a wait is no shorter than its kernel";
    EXPECT_FALSE(transfer->verify(seed)) << what;
  }
  EXPECT_NE(objection("synchronize", "work_us", "-1"), "");
}

TEST_F(GpuCalls, GraphsOfEveryNodeRunAsOftenAsLaunched) {
  for (const char* method : {"graph-instantiate", "graph-launch"}) {
    for (const char* node : {"kernel", "copy", "copy-3d"}) {
      for (const char* nodes : {"1", "3", "20"}) {
        for (const Bytes bytes : {Bytes{1}, Bytes{100}, Bytes{512}, Bytes{70000}}) {
          Flow flow = call(method, bytes);
          flow.parameters.set("node", node);
          flow.parameters.set("nodes", nodes);
          expect_right(flow, std::string(node) + " x " + nodes + ", " + std::to_string(bytes) + " B");
        }
      }
    }
  }
}

TEST_F(GpuCalls, AGraphThatDidNotRunIsFound) {
  const auto context = std::make_shared<gpu::GpuContext>(host_, 1, SyncMode::spin);
  for (const gpu::NodeKind kind : {gpu::NodeKind::kernel, gpu::NodeKind::copy, gpu::NodeKind::copy_3d}) {
    gpu::CountedGraph graph(context, 0, {kind, 2, 640});
    graph.arm(seed);
    EXPECT_FALSE(graph.find_wrong(seed, 0));
    EXPECT_TRUE(graph.find_wrong(seed, 1));
  }
}

struct Kind {
  const char* memory;
  DeviceKind lies_on;
};
constexpr std::array<Kind, 14> kinds = {{
    {"device", DeviceKind::gpu},
    {"pool", DeviceKind::gpu},
    {"vmm", DeviceKind::gpu},
    {"managed", DeviceKind::gpu},
    {"managed", DeviceKind::numa},
    {"fine-grained", DeviceKind::gpu},
    {"coarse-grained", DeviceKind::gpu},
    {"pinned", DeviceKind::numa},
    {"registered", DeviceKind::numa},
    {"write-combined", DeviceKind::numa},
    {"fine-grained", DeviceKind::numa},
    {"coarse-grained", DeviceKind::numa},
    {"pageable", DeviceKind::numa},
    {"huge", DeviceKind::numa},
}};

bool of_the_host_backend(const std::string& memory) { return memory == "pageable" || memory == "huge"; }

TEST_F(GpuCalls, EveryKindOfMemoryIsAllocatedAndFreed) {
  for (const Kind& kind : kinds) {
    if (!of_the_host_backend(kind.memory) && !has(kind.memory, kind.lies_on)) continue;
    for (const char* method : {"allocate", "free"}) {
      for (const Bytes bytes : {Bytes{1}, Bytes{4096}, 5 * MiB + 3})
        expect_right(call_on(method, kind.memory, kind.lies_on, bytes), kind.memory);
    }
  }
  if (!has("pool", DeviceKind::gpu)) return;
  Flow flow = call_on("allocate", "pool", DeviceKind::gpu, MiB);
  flow.parameters.set("reuse", "0");
  expect_right(flow, "pool, from the device each time");
}

TEST_F(GpuCalls, HostMemoryIsRegisteredAndReleased) {
  for (const char* memory : {"pageable", "huge", "registered"}) {
    for (const char* method : {"register", "unregister"}) {
      for (const Bytes bytes : {Bytes{4096}, 3 * MiB})
        expect_right(call_on(method, memory, DeviceKind::numa, bytes), memory);
    }
  }
}

TEST_F(GpuCalls, FirstTouchWritesFreshMemoryFromGpuAndCpu) {
  const bool managed = has("managed", DeviceKind::gpu);
  const bool pageable = backend_->devices.front().attributes.at("pageable_memory_access") == "yes";
  for (const Bytes bytes : {Bytes{5}, Bytes{4097}, 3 * MiB + 1}) {
    if (pageable)
      expect_right(call_on("first-touch", "pageable", DeviceKind::numa, bytes), "pageable by the GPU");
    if (!managed) continue;
    Flow flow = call_on("first-touch", "managed", DeviceKind::gpu, bytes);
    expect_right(flow, "managed by the GPU");
    flow.executor = {DeviceKind::numa, host_->topology().nearest_with_cpus(0).index};
    expect_right(flow, "managed by a CPU");
  }
}

TEST_F(GpuCalls, SmallManagedBlocksAreFreshInEveryStart) {
  if (!has("managed", DeviceKind::gpu)) GTEST_SKIP();
  Flow flow = call_on("first-touch", "managed", DeviceKind::gpu, 4096);
  flow.executor = {DeviceKind::numa, host_->topology().nearest_with_cpus(0).index};
  const auto transfer = prepare(flow);
  transfer->arm(seed);
  std::vector<Seconds> times;
  for (int start = 0; start < 9; ++start) {
    transfer->restore();
    times.push_back(host_gate_.run({{transfer.get(), 16}}, Clock::host).front().length());
  }
  const Seconds shortest = *std::min_element(times.begin() + 1, times.end());
  EXPECT_GT(shortest, 16 * 2e-6) << "a page that is there is written in far less than a fault takes";
}

TEST_F(GpuCalls, WhatCannotFitIsNoMemoryBeforeAnythingIsAllocated) {
  const Bytes twice = 2 * backend_->devices.front().memory_bytes;
  for (const Kind& kind : kinds) {
    if (of_the_host_backend(kind.memory) || !has(kind.memory, kind.lies_on)) continue;
    const bool on_gpu = kind.lies_on == DeviceKind::gpu || std::strcmp(kind.memory, "managed") == 0;
    try {
      static_cast<void>(
          prepare(call_on("allocate", kind.memory, kind.lies_on, on_gpu ? twice : Bytes{1} << 46U)));
      ADD_FAILURE() << kind.memory << ": must not fit";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::no_memory) << kind.memory << ": " << error.what();
    }
  }
}

TEST_F(GpuCalls, RefusalsSayWhy) {
  Flow flow = call("launch");
  flow.parameters.set("argument_bytes", "7");
  EXPECT_NE(method("launch").supports(flow).reason().find("4096"), std::string::npos);
  EXPECT_NE(objection("launch", "argument_bytes", "4097"), "");
  EXPECT_NE(objection("synchronize", "what", "everything"), "");
  EXPECT_NE(objection("graph-launch", "node", "host"), "");
  EXPECT_NE(objection("allocate", "reuse", "2"), "");
  flow = call_on("launch", "device", DeviceKind::gpu, 8);
  EXPECT_NE(method("launch").supports(flow).reason().find("no destination"), std::string::npos);
  EXPECT_FALSE(method("allocate").supports(call("allocate")));
  EXPECT_FALSE(method("register").supports(call_on("register", "pinned", DeviceKind::numa, 4096)));
  EXPECT_FALSE(method("first-touch").supports(call_on("first-touch", "device", DeviceKind::gpu, 4096)));
  flow = call_on("first-touch", "managed", DeviceKind::gpu, 4096);
  flow.destination->advice = "read-mostly";
  EXPECT_NE(method("first-touch").supports(flow).reason().find("no advice applies"), std::string::npos);
}

TEST_F(GpuCalls, CpusReachManagedMemoryAndNotADiscreteGpusOwn) {
  if (!has("managed", DeviceKind::gpu)) GTEST_SKIP();
  Endpoint managed = at("managed");
  managed.placement = Placement::first_touch;
  EXPECT_TRUE(host_->reachable(managed));
  managed.placement = Placement::bound;
  const gpu::GpuContext context(host_, 1, SyncMode::spin);
  const bool stays = context.device(0).direct_host_access || context.device(0).integrated;
  EXPECT_EQ(static_cast<bool>(host_->reachable(managed)), stays)
      << "a CPU's access would bring the pages to the host";
  EXPECT_FALSE(host_->reachable(endpoint(gpu0, "pool")));
  const Endpoint absent = endpoint({DeviceKind::gpu, 99}, "managed");
  EXPECT_NE(host_->reachable(absent).reason().find("gpu:99"), std::string::npos);
}

TEST_F(GpuCalls, ThatAreTimedUntilTheyReturnFlushWhatTheirWorkUses) {
  const auto context = std::make_shared<gpu::GpuContext>(host_, 1, SyncMode::spin);
  int flushes = 0;
  const auto call = gpu::time_until_return(context, std::make_unique<FlushCounter>(flushes));
  call->flush();
  EXPECT_EQ(flushes, 1);
}

}  // namespace
}  // namespace linkscope::testing
