// Every form of copy (calls, regions, batches, graphs): what arrived is right, the rest untouched, damage is found.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/vendor/check.hpp"
#include "prepared_flow.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;
constexpr std::array<const char*, 4> region_methods = {"copy-engine-2d", "copy-engine-3d", "kernel-strided",
                                                       "pack-copy-unpack"};

struct Shape {
  const char* region;
  const char* in;
  Bytes bytes;
};
// Rows that vectors, words, or single bytes fill; gaps within planes, between planes, and none.
constexpr std::array<Shape, 9> shapes = {{
    {"64x8x4", "96x10x5", Bytes{64} * 8 * 4},
    {"1x7x3", "3x8x3", 21},
    {"17x5x2", "33x6x2", 170},
    {"6x9x300", "10x9x300", Bytes{6} * 9 * 300},
    {"4096x64x8", "8192x65x8", Bytes{4096} * 64 * 8},
    {"1048579x1x1", "1048579x1x1", 1048579},
    {"16x129x7", "64x130x7",
     Bytes{16} * 129 * 7},  // short rows, of one vector, of three words and of 31 bytes
    {"12x33x5", "20x33x5", Bytes{12} * 33 * 5},
    {"31x17x3", "32x18x3", Bytes{31} * 17 * 3},
}};

struct Ends {
  const char* source;
  const char* destination;
};
constexpr std::array<Ends, 5> ends = {{{"device", "device"},
                                       {"pinned", "device"},
                                       {"device", "registered"},
                                       {"managed", "device"},
                                       {"device", "managed"}}};

class CopyForms : public WithFlows {
 protected:
  [[nodiscard]] static Flow region_flow(const char* method, const Ends& between, const Shape& shape) {
    return flow(method, between.source, between.destination, shape.bytes,
                {{"region", shape.region}, {"in", shape.in}});
  }
  [[nodiscard]] bool has_two_gpus() const {
    return backend_->devices.size() > 1 && !backend_->peer_access.empty();
  }
  /// From gpu:0 to gpu:1, driven by gpu:`executor`.
  [[nodiscard]] static Flow between_gpus(Flow flow, int executor) {
    flow.source = endpoint(gpu0, "device");
    flow.destination = endpoint({DeviceKind::gpu, 1}, "device");
    flow.executor = {DeviceKind::gpu, executor};
    return flow;
  }
};

TEST_F(CopyForms, OfRegionsDeliverTheirBytesAndLeaveTheRestAlone) {
  for (const char* name : region_methods) {
    for (const Ends& between : ends) {
      for (const Shape& shape : shapes) {
        const Flow wanted = region_flow(name, between, shape);
        if (const std::string reason = refusal(wanted); !reason.empty()) {
          EXPECT_TRUE(std::string(between.source) == "managed" ||
                      std::string(between.destination) == "managed")
              << name << ": " << reason;
          continue;
        }
        const Prepared prepared = prepare(wanted, 3);
        for (const Clock clock : {Clock::device, Clock::host}) {
          EXPECT_EQ(fault_after(*prepared.transfer, 4, clock, seed), "")
              << name << " " << shape.region << " " << between.source << " to " << between.destination;
          EXPECT_GE(prepared.transfer->verified_bytes(), 3 * shape.bytes);
        }
      }
    }
  }
}

TEST_F(CopyForms, OfRegionsBetweenPageableMemoryAndTheGpuGoThroughTheDriver) {
  for (const char* name : {"copy-engine-2d", "copy-engine-3d"}) {
    for (const Ends& between : {Ends{"pageable", "device"}, Ends{"device", "pageable"}}) {
      const Prepared prepared = prepare(region_flow(name, between, shapes[4]), 2);
      EXPECT_EQ(fault_after(*prepared.transfer, 2, Clock::device, seed), "") << name;
    }
  }
}

TEST_F(CopyForms, OfRegionsAreCheckedInTheirRowsAndBetweenThem) {
  const Shape& shape = shapes[4];  // rows of 4096 in 8192, 65 rows to a plane
  const Bytes plane = Bytes{8192} * 65;
  for (const char* name : region_methods) {
    for (const Ends& between : {ends[0], ends[2]}) {
      const Prepared prepared = prepare(region_flow(name, between, shape), 2);
      ASSERT_EQ(fault_after(*prepared.transfer, 2, Clock::device, seed), "") << name;
      prepared.destination->poison(2 * plane + 3 * 8192 + 8, 8);
      const auto missing = prepared.transfer->verify(seed);
      ASSERT_TRUE(missing) << name;
      EXPECT_NE(missing->what.find("byte 8 of row 3 of plane 2"), std::string::npos) << missing->what;

      ASSERT_EQ(fault_after(*prepared.transfer, 2, Clock::device, seed), "") << name;
      prepared.destination->fill(plane + 8192 + 4096, 8, seed);
      const auto overwritten = prepared.transfer->verify(seed);
      ASSERT_TRUE(overwritten) << name;
      EXPECT_NE(overwritten->what.find("byte 4096 of row 1 of plane 1"), std::string::npos)
          << overwritten->what;
      EXPECT_NE(overwritten->what.find("outside the region"), std::string::npos) << overwritten->what;
    }
  }
}

TEST_F(CopyForms, ThatStagePageableMemoryAreCheckedAsWell) {
  const Prepared prepared = prepare(region_flow("copy-engine-2d", {"device", "pageable"}, shapes[4]));
  ASSERT_EQ(fault_after(*prepared.transfer, 1, Clock::host, seed), "");
  prepared.destination->poison(4088, 1);
  EXPECT_TRUE(prepared.transfer->verify(seed));
}

TEST_F(CopyForms, OfRegionsThatAreNoneAreRefused) {
  for (const char* name : region_methods) {
    const Flow wrong = flow(name, "device", "device", 64, {{"region", "8x8x2"}, {"in", "8x8x2"}});
    EXPECT_THROW(static_cast<void>(method(name).supports(wrong)), Error) << name;
  }
  const Flow far = flow("copy-engine-2d", "device", "device", 2, {{"region", "1x2"}, {"in", "4294967296x2"}});
  EXPECT_NE(refusal(far).find("largest pitch"), std::string::npos);
}

TEST_F(CopyForms, SpreadTheirRotationOverTheirFootprint) {
  const Flow dense = flow("kernel-strided", "device", "device", 4 * MiB);
  const Flow sparse =
      flow("kernel-strided", "device", "device", 4 * MiB, {{"region", "1024x4096"}, {"in", "4096x4096"}});
  EXPECT_EQ(method("kernel-strided").footprint(sparse), 16 * MiB);
  EXPECT_EQ(method("kernel-strided").rotation_bytes(sparse),
            4 * method("kernel-strided").rotation_bytes(dense));
}

TEST_F(CopyForms, OfThinSlabsStackTheirSlotsInTheSamePlanes) {
  const Flow thin = flow("kernel-strided", "device", "device", Bytes{8192} * 2 * 512,
                         {{"region", "8192x2x512"}, {"in", "8192x512x512"}});
  const Method& strided = method("kernel-strided");
  EXPECT_EQ(strided.stride(thin), Bytes{8192} * 2);
  const std::uint64_t slots = strided.rotation_bytes(thin) / strided.stride(thin);
  EXPECT_GE(slots * thin.bytes, strided.rotation_bytes(flow("kernel-strided", "device", "device", 4 * MiB)));
  EXPECT_LE(slots, 256U) << "no more than the planes have room for";

  const Shape small{"64x2x3", "64x40x3", Bytes{64} * 2 * 3};
  for (const char* name : region_methods) {
    const Flow wanted = region_flow(name, ends[0], small);
    constexpr std::uint64_t stacked = 5;
    constexpr Bytes stride = 64 * 2;
    const Bytes bytes = (stacked - 1) * stride + strided.footprint(wanted);
    const auto source = memory("device").allocate(*wanted.source, bytes);
    const auto destination = memory("device").allocate(*wanted.destination, bytes);
    const auto transfer = method(name).prepare(wanted, {source.get(), destination.get(), {stride, stacked}});
    EXPECT_EQ(fault_after(*transfer, 3, Clock::device, seed), "") << name;
    EXPECT_EQ(fault_after(*transfer, 7, Clock::device, seed), "") << name;
    destination->poison(64 * 40 + 64 * 5 + 3, 1);  // of slot 2, in plane 1
    const auto missing = transfer->verify(seed);
    ASSERT_TRUE(missing) << name;
    EXPECT_NE(missing->what.find("byte 3 of row 5 of plane 1"), std::string::npos) << missing->what;
    EXPECT_NE(missing->what.find("in slot 2"), std::string::npos) << missing->what;
  }
}

TEST_F(CopyForms, BySynchronousCallsHaveEndedWhenTheyReturn) {
  for (const Ends& between : {Ends{"pinned", "device"}, Ends{"device", "pinned"}, Ends{"device", "device"},
                              Ends{"pageable", "device"}, Ends{"device", "managed"}}) {
    const Prepared prepared =
        prepare(flow("copy-engine", between.source, between.destination, 3 * MiB + 1, {{"call", "sync"}}), 2);
    for (const Clock clock : {Clock::device, Clock::host}) {
      EXPECT_EQ(fault_after(*prepared.transfer, 3, clock, seed), "")
          << between.source << " " << between.destination;
    }
  }
}

TEST_F(CopyForms, OfUnknownCallsAreRefused) {
  EXPECT_NE(objection("copy-engine", "call", "later"), "");
  EXPECT_NE(objection("copy-engine", "api", "dma"), "");
  EXPECT_NE(objection("copy-engine", "peer_access", "maybe"), "");
  EXPECT_NE(objection("copy-batch", "api", "many"), "");
  EXPECT_NE(objection("copy-batch", "count", "0"), "");
  EXPECT_NE(refusal(flow("copy-engine", "pinned", "device", 4096, {{"api", "peer"}})).find("two GPUs"),
            std::string::npos);
}

constexpr std::array<const char*, 5> batch_apis = {"batch", "loop", "kernel", "bulk", "2d"};

TEST_F(CopyForms, InBatchesDeliverEveryBuffer) {
  for (const char* api : batch_apis) {
    for (const auto& [count, each] :
         {std::pair<Bytes, Bytes>{1, 4096}, {7, 65}, {64, 16384}, {300, 512}, {33, 20016}}) {
      for (const Ends& between :
           {Ends{"device", "device"}, Ends{"pinned", "device"}, Ends{"device", "registered"}}) {
        const Flow wanted = flow("copy-batch", between.source, between.destination, count * each,
                                 {{"api", api}, {"count", std::to_string(count)}});
        if (const std::string reason = refusal(wanted); !reason.empty()) {
          EXPECT_TRUE(std::string(api) == "batch" || std::string(api) == "bulk") << reason;
          continue;
        }
        const Prepared prepared = prepare(wanted, 2);
        for (const Clock clock : {Clock::device, Clock::host}) {
          const std::uint64_t repeats =
              std::min<std::uint64_t>(3, prepared.transfer->facts().most_repeats(clock));
          EXPECT_EQ(fault_after(*prepared.transfer, repeats, clock, seed), "")
              << api << " " << count << " of " << each;
        }
        prepared.destination->poison(0, 1);
        EXPECT_TRUE(prepared.transfer->verify(seed));
      }
    }
  }
}

TEST_F(CopyForms, InBatchesOfShuffledBuffersDeliverEachToItsPlace) {
  constexpr Bytes each = 20016;  // bulk copies take it in pieces
  for (const Bytes count : {Bytes{1}, Bytes{33}, Bytes{300}}) {
    for (const char* api : batch_apis) {
      for (const Ends& between :
           {Ends{"device", "device"}, Ends{"pinned", "device"}, Ends{"device", "pinned"}}) {
        Flow wanted = flow("copy-batch", between.source, between.destination, count * each,
                           {{"api", api}, {"count", std::to_string(count)}, {"scatter", "yes"}});
        if (const std::string reason = refusal(wanted); !reason.empty()) {
          EXPECT_NE(std::string(api), "loop") << reason;
          EXPECT_NE(std::string(api), "kernel") << reason;
          continue;
        }
        const Prepared prepared = prepare(wanted, 2);
        std::vector<Setting> settings = prepared.transfer->facts().candidates;
        if (settings.empty()) settings.emplace_back();
        for (const Setting& setting : settings) {
          if (!setting.empty()) prepared.transfer->use(setting);
          EXPECT_EQ(fault_after(*prepared.transfer, 3, Clock::host, seed), "") << api << " " << count;
        }
        if (count == 1) continue;
        const Bytes apart = round_up(each, 512) + 512;  // the first buffer's bytes in the second's place
        LINKSCOPE_CHECK(gpuMemcpy(prepared.destination->data() + apart, prepared.destination->data(), each,
                                  gpuMemcpyDefault));
        EXPECT_TRUE(prepared.transfer->verify(seed)) << api;
      }
    }
  }
}

TEST_F(CopyForms, InOrderAreNoShuffledBatch) {
  Flow wanted = flow("copy-batch", "device", "device", 64 * 4 * KiB, {{"api", "loop"}, {"count", "64"}});
  const Prepared plain = prepare(wanted);
  ASSERT_EQ(fault_after(*plain.transfer, 1, Clock::host, seed), "");
  wanted.parameters.set("scatter", "yes");
  const Arenas same{plain.source.get(), plain.destination.get(), {method("copy-batch").stride(wanted), 1}};
  const auto shuffled = method("copy-batch").prepare(wanted, same);
  EXPECT_EQ(fault_after(*shuffled, 1, Clock::host, seed), "");
  EXPECT_TRUE(plain.transfer->verify(seed));
  EXPECT_EQ(fault_after(*plain.transfer, 1, Clock::host, seed), "");
  EXPECT_TRUE(shuffled->verify(seed));
}

TEST_F(CopyForms, InBatchesReadTheirSourcesInEveryOrder) {
  for (const char* order : {"call", "any"}) {
    for (const Ends& between :
         {Ends{"device", "device"}, Ends{"pinned", "device"}, Ends{"device", "pinned"}}) {
      Flow wanted = flow("copy-batch", between.source, between.destination, 64 * 4 * KiB, {{"order", order}});
      if (!refusal(wanted).empty()) continue;
      const Prepared prepared = prepare(wanted, 2);
      EXPECT_EQ(fault_after(*prepared.transfer, 3, Clock::device, seed), "") << order;
      EXPECT_GE(prepared.transfer->notes().size(), 2U) << "the hazard, and that launch cost is inside";
      wanted.parameters.set("api", "loop");
      EXPECT_NE(refusal(wanted).find("api batch"), std::string::npos);
    }
  }
}

TEST_F(CopyForms, OfMoreBuffersThanAQueueHoldsAreCaptured) {
  for (const char* scatter : {"no", "yes"}) {
    const Prepared prepared =
        prepare(flow("copy-batch", "pinned", "device", Bytes{1000} * 512,
                     {{"api", "loop"}, {"count", "1000"}, {"scatter", scatter}, {"graph", "1"}}));
    for (const Clock clock : {Clock::device, Clock::host})
      EXPECT_EQ(fault_after(*prepared.transfer, 1, clock, seed), "");
  }
}

TEST_F(CopyForms, InOneCallWaitBehindTheGateAlsoWhereThereAreMoreBuffersThanAQueueHasCommands) {
  Flow wanted = flow("copy-batch", "device", "device", Bytes{300} * 512, {{"count", "300"}});
  if (const std::string reason = refusal(wanted); !reason.empty()) GTEST_SKIP() << reason;
  const auto launch_cost_inside = [this](const Flow& batch) {
    const auto notes = prepare(batch, 2).transfer->notes();
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note.find("launch cost is inside") != std::string::npos;
    });
  };
  EXPECT_FALSE(launch_cost_inside(wanted));
  wanted.parameters.set("api", "loop");
  EXPECT_TRUE(launch_cost_inside(wanted));
}

TEST_F(CopyForms, InBatchesOfUnequalBuffersAreRefused) {
  EXPECT_NE(refusal(flow("copy-batch", "device", "device", 100, {{"count", "64"}})).find("of one size"),
            std::string::npos);
  EXPECT_NE(refusal(flow("copy-batch", "device", "device", 640, {{"api", "bulk"}, {"count", "64"}})), "");
  EXPECT_NE(refusal(flow("copy-batch", "device", "device", 6400, {{"api", "2d"}, {"scatter", "yes"}})), "");
}

TEST_F(CopyForms, InBatchesWithNumbersThatTheirApiIgnoresAreRefused) {
  const auto with = [this](const char* api, const char* name, const char* value) {
    return refusal(flow("copy-batch", "device", "device", 64 * KiB, {{"api", api}, {name, value}}));
  };
  for (const char* api : {"batch", "loop", "2d"}) {
    EXPECT_NE(with(api, "blocks", "4").find("blocks"), std::string::npos) << api;
    EXPECT_NE(with(api, "threads", "128").find("threads"), std::string::npos) << api;
  }
  for (const char* api : {"batch", "loop", "2d", "kernel"}) {
    EXPECT_NE(with(api, "stages", "4").find("stages"), std::string::npos) << api;
    EXPECT_NE(with(api, "stage_bytes", "1024").find("stage_bytes"), std::string::npos) << api;
  }
  EXPECT_EQ(with("kernel", "blocks", "4"), "");
}

struct Recorded {
  const char* method;
  Ends between;
};
constexpr std::array<Recorded, 9> recordable = {{{"copy-engine", {"pinned", "device"}},
                                                 {"copy-engine", {"device", "device"}},
                                                 {"copy-engine-2d", {"device", "pinned"}},
                                                 {"copy-engine-3d", {"device", "device"}},
                                                 {"kernel-strided", {"pinned", "device"}},
                                                 {"pack-copy-unpack", {"device", "device"}},
                                                 {"kernel-copy", {"device", "device"}},
                                                 {"kernel-read", {"device", nullptr}},
                                                 {"kernel-write", {nullptr, "device"}}}};

TEST_F(CopyForms, FromGraphsDeliverWhatTheyDoWithoutInEveryRoundAndShape) {
  for (const Recorded& kind : recordable) {
    Flow wanted = flow(kind.method, kind.between.source, kind.between.destination, MiB + 5);
    const std::uint64_t alone = prepare(wanted).transfer->facts().operations;
    wanted.parameters.set("graph", "5");
    EXPECT_EQ(method(kind.method).rotation_bytes(wanted), 0);
    const Prepared prepared = prepare(wanted);
    EXPECT_EQ(prepared.transfer->facts().operations, 5 * alone) << kind.method;
    std::vector<Setting> settings = prepared.transfer->facts().candidates;
    if (settings.empty()) settings.emplace_back();
    for (const Setting& setting : settings) {
      if (!setting.empty()) prepared.transfer->use(setting);
      for (std::uint64_t round = 1; round < 3; ++round) {
        EXPECT_EQ(fault_after(*prepared.transfer, 3, Clock::device, round), "") << kind.method;
        EXPECT_EQ(fault_after(*prepared.transfer, 2, Clock::host, round), "") << kind.method;
      }
    }
  }
}

TEST_F(CopyForms, FromGraphsThatWereNeverLaunchedAreNotCalledVerified) {
  const Prepared prepared = prepare(flow("copy-engine", "pinned", "device", 4096, {{"graph", "4"}}));
  prepared.transfer->arm(seed);
  EXPECT_EQ(prepared.transfer->verified_bytes(), 0);
  EXPECT_EQ(prepared.destination->compare(0, 4096, seed), 0);  // recording moved nothing
}

TEST_F(CopyForms, FromGraphsAreCheckedAsWell) {
  for (const Recorded& kind : recordable) {
    if (kind.between.destination == nullptr) continue;
    const Prepared prepared =
        prepare(flow(kind.method, kind.between.source, kind.between.destination, MiB + 5, {{"graph", "2"}}));
    ASSERT_EQ(fault_after(*prepared.transfer, 2, Clock::device, seed), "") << kind.method;
    prepared.destination->poison(4096, 8);
    EXPECT_TRUE(prepared.transfer->verify(seed)) << kind.method;
  }
  const Prepared reading = prepare(flow("kernel-read", "device", nullptr, MiB, {{"graph", "2"}}));
  reading.transfer->arm(seed);
  reading.source->poison(4096, 8);
  static_cast<void>(gate().run({{reading.transfer.get(), 2}}, Clock::device));
  EXPECT_TRUE(reading.transfer->verify(seed));
}

TEST_F(CopyForms, ThatKeepTheirThreadCannotBeCaptured) {
  for (const Flow& wanted :
       {flow("copy-engine", "pageable", "device", 4096, {{"graph", "4"}}),
        flow("copy-engine", "pinned", "device", 4096, {{"graph", "4"}, {"call", "sync"}})}) {
    try {
      static_cast<void>(prepare(wanted));
      FAIL() << "was captured";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::unsupported);
      EXPECT_NE(std::string(error.what()).find("cannot be captured"), std::string::npos) << error.what();
    }
  }
}

TEST_F(CopyForms, AloneOfferGraphs) {
  EXPECT_EQ(objection("copy-engine", "graph", "8"), "");
  EXPECT_EQ(objection("kernel-copy", "graph", "8"), "");
  EXPECT_THROW(static_cast<void>(objection("ping-pong", "graph", "8")), std::out_of_range);
  EXPECT_NE(objection("copy-engine", "graph", "-1"), "");
}

TEST_F(CopyForms, BetweenTwoGpusDeliverWhoeverDrivesThem) {
  if (!has_two_gpus()) GTEST_SKIP() << "needs two GPUs with peer access";
  std::vector<Flow> wanted;
  for (const char* api : {"memcpy", "peer"}) {
    for (const char* call : {"async", "sync"}) {
      for (const char* access : {"on", "off"}) {
        wanted.push_back(flow("copy-engine", nullptr, nullptr, MiB + 3,
                              {{"api", api}, {"call", call}, {"peer_access", access}}));
      }
    }
  }
  for (const Shape& shape : shapes) {
    for (const char* name : region_methods) {
      wanted.push_back(
          flow(name, nullptr, nullptr, shape.bytes, {{"region", shape.region}, {"in", shape.in}}));
      if (std::string(name) == "kernel-strided") continue;
      wanted.push_back(wanted.back());
      wanted.back().parameters.set("peer_access", "off");
    }
  }
  for (const char* api : batch_apis) {
    for (const char* scatter : {"no", "yes"}) {
      wanted.push_back(flow("copy-batch", nullptr, nullptr, 64 * KiB,
                            {{"api", api}, {"count", "16"}, {"scatter", scatter}}));
    }
  }
  for (const Flow& base : wanted) {
    for (const int executor : {0, 1}) {
      const Flow here = between_gpus(base, executor);
      if (const std::string reason = refusal(here); !reason.empty()) {
        const std::string api = here.parameters.all().at("api");
        EXPECT_TRUE(api != "loop" && api != "kernel") << here.method << ": " << reason;
        continue;
      }
      const Prepared prepared = prepare(here, 2);
      for (const Clock clock : {Clock::device, Clock::host}) {
        EXPECT_EQ(fault_after(*prepared.transfer, 3, clock, seed), "")
            << here.method << " driven by " << executor;
      }
    }
  }
}

TEST_F(CopyForms, BetweenTwoGpusCannotGoStraightAndStagedAtOnce) {
  if (!has_two_gpus()) GTEST_SKIP() << "needs two GPUs with peer access";
  const Flow staged = between_gpus(flow("copy-engine", nullptr, nullptr, MiB, {{"peer_access", "off"}}), 0);
  for (const char* name :
       {"copy-engine", "copy-engine-2d", "pack-copy-unpack", "kernel-strided", "kernel-copy"}) {
    const Flow straight = between_gpus(flow(name, nullptr, nullptr, MiB), 1);
    for (const auto& [first, second] : {std::pair{staged, straight}, std::pair{straight, staged}}) {
      const Prepared kept = prepare(first);
      try {
        static_cast<void>(prepare(second));
        ADD_FAILURE() << name << " changed the switch under another flow";
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::unsupported) << error.what();
      }
      EXPECT_EQ(fault_after(*kept.transfer, 2, Clock::device, seed), "") << name;
    }
    EXPECT_EQ(fault_after(*prepare(straight).transfer, 2, Clock::device, seed), "") << name;
  }
}

TEST_F(CopyForms, BetweenTwoGpusAreCapturedAcrossBoth) {
  if (!has_two_gpus()) GTEST_SKIP() << "needs two GPUs with peer access";
  for (const char* name : {"pack-copy-unpack", "copy-engine-2d", "copy-engine"}) {
    for (const int executor : {0, 1}) {
      const Prepared prepared =
          prepare(between_gpus(flow(name, nullptr, nullptr, MiB + 5, {{"graph", "3"}}), executor));
      EXPECT_EQ(fault_after(*prepared.transfer, 2, Clock::device, seed), "") << name;
    }
  }
  const Flow refused = between_gpus(flow("copy-engine-3d", nullptr, nullptr, MiB, {{"graph", "3"}}), 0);
  EXPECT_NE(refusal(refused).find("cannot be captured"), std::string::npos);
}

}  // namespace
}  // namespace linkscope::testing
