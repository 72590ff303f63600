// Direct access by kernels (patterns, STREAM, bulk copies, atomics): what was done is right, what is wrong is found.
#include <array>
#include <string>
#include <vector>

#include "prepared_flow.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;
constexpr std::uint64_t slots = 3;
constexpr std::uint64_t repeats = 4;  // one slot twice

struct Ends {
  const char* source;
  const char* destination;
};

class DirectAccess : public WithFlows {
 protected:
  /// Runs every launch shape on both clocks.
  void expect_right(const Flow& wanted, const std::string& what) const {
    const Prepared prepared = prepare(wanted, slots);
    std::vector<Setting> settings = prepared.transfer->facts().candidates;
    if (settings.empty()) settings.push_back(prepared.transfer->facts().setting);
    for (const Setting& setting : settings) {
      prepared.transfer->use(setting);
      for (const Clock clock : {Clock::device, Clock::host}) {
        EXPECT_EQ(fault_after(*prepared.transfer, repeats, clock, seed), "")
            << what << ", shape " << text(setting);
        EXPECT_GT(prepared.transfer->verified_bytes(), 0) << what;
      }
    }
  }

  /// Runs the default launch shape once, on the device's clock.
  void expect_right_by_default(const Flow& wanted, const std::string& what) const {
    const Prepared prepared = prepare(wanted, slots);
    EXPECT_EQ(fault_after(*prepared.transfer, repeats, Clock::device, seed), "") << what;
    EXPECT_GT(prepared.transfer->verified_bytes(), 0) << what;
  }

  /// Runs, overwrites `length` bytes of the destination at `offset`, and returns what verify() says.
  [[nodiscard]] std::string fault_after_damage(const Flow& wanted, Bytes offset, Bytes length = 8) const {
    const Prepared prepared = prepare(wanted, slots);
    prepared.transfer->arm(seed);
    static_cast<void>(gate().run({{prepared.transfer.get(), repeats}}, Clock::device));
    prepared.destination->fill(offset, length, 4711);
    const auto mismatch = prepared.transfer->verify(seed);
    return mismatch ? mismatch->what : std::string();
  }

  [[nodiscard]] bool has_bulk_copies() const {
    return refusal(flow("kernel-bulk-copy", "device", "device", 4096)).empty();
  }

  /// gpu:1, where there are two GPUs that reach each other.
  [[nodiscard]] std::optional<Endpoint> peer() const {
    if (backend_->devices.size() < 2 || backend_->peer_access.empty()) return std::nullopt;
    return endpoint({DeviceKind::gpu, 1}, "device");
  }

 private:
  static std::string text(const Setting& setting) {
    std::string all;
    for (const auto& [name, value] : setting) all += name + " " + std::to_string(value) + " ";
    return all;
  }
};

// --- access patterns

constexpr std::array<Ends, 6> accesses = {{{"device", nullptr},
                                           {"pinned", nullptr},
                                           {nullptr, "device"},
                                           {nullptr, "pinned"},
                                           {"device", "device"},
                                           {"pinned", "device"}}};

const char* method_of(const Ends& ends) {
  if (ends.destination == nullptr) return "kernel-read";
  return ends.source == nullptr ? "kernel-write" : "kernel-copy";
}

TEST_F(DirectAccess, OfEveryWidthTouchesWhatItsPatternSays) {
  for (const Ends& ends : accesses) {
    for (const char* width : {"1", "2", "4", "8", "16"}) {
      const std::map<std::string, std::string> patterns[] = {
          {{"width", width}},
          {{"width", width}, {"stride", "3"}},
          {{"width", width}, {"stride", "256"}},
          {{"width", width}, {"chunk", "64"}, {"fill", "9"}},
          {{"width", width}, {"chunk", "32"}},
      };
      for (const auto& pattern : patterns) {
        // 4112: no whole number of chunks, and less than a block has threads
        for (const Bytes bytes : {Bytes{16}, Bytes{4112}, Bytes{256 * KiB}}) {
          const Flow wanted = flow(method_of(ends), ends.source, ends.destination, bytes, pattern);
          const std::string what =
              std::string(method_of(ends)) + " " + std::to_string(bytes) + " B, width " + width;
          if (std::string(width) == "4" && bytes > 16) {
            expect_right(wanted, what);  // in every shape: that costs, and no shape knows the width
          } else {
            expect_right_by_default(wanted, what);
          }
        }
      }
    }
  }
}

TEST_F(DirectAccess, FindsDamageInAnAccessAndInAGap) {
  for (const Ends& ends : {Ends{nullptr, "device"}, Ends{"device", "device"}}) {
    const Flow strided =
        flow(method_of(ends), ends.source, ends.destination, 64 * KiB, {{"width", "8"}, {"stride", "4"}});
    EXPECT_NE(fault_after_damage(strided, 32 * 1000).find("byte 32000"), std::string::npos);
    const std::string in_gap = fault_after_damage(strided, 32 * 1000 + 8);
    EXPECT_NE(in_gap.find("byte 32008"), std::string::npos) << in_gap;
    EXPECT_NE(in_gap.find("gap"), std::string::npos) << in_gap;
  }
}

TEST_F(DirectAccess, FindsAReadOfDamagedMemoryButNotOfADamagedGap) {
  const Flow strided = flow("kernel-read", "device", nullptr, 64 * KiB, {{"width", "4"}, {"stride", "4"}});
  for (const auto& [offset, found] : {std::pair<Bytes, bool>{16 * 1000, true}, {16 * 1000 + 4, false}}) {
    const Prepared prepared = prepare(strided, slots);
    prepared.transfer->arm(seed);
    prepared.source->poison(offset, 4);
    static_cast<void>(gate().run({{prepared.transfer.get(), repeats}}, Clock::device));
    EXPECT_EQ(prepared.transfer->verify(seed).has_value(), found) << offset;
  }
}

TEST_F(DirectAccess, OfNoWholeNumberOfElementsIsRefused) {
  EXPECT_NE(refusal(flow("kernel-read", "device", nullptr, 4097, {{"width", "4"}})), "");
  EXPECT_NE(refusal(flow("kernel-read", "device", nullptr, 4096, {{"width", "4"}, {"streaming", "1"}})), "");
  EXPECT_EQ(refusal(flow("kernel-read", "device", nullptr, 4097)), "");
  EXPECT_THROW(refusal(flow("kernel-read", "device", nullptr, 4096, {{"width", "3"}})), Error);
}

TEST_F(DirectAccess, ByOneBlockPerTileIsRight) {
  for (const Ends& ends : accesses) {
    for (const char* unroll : {"1", "4", "8", "12"}) {
      for (const Bytes bytes : {Bytes{1}, Bytes{4097}, 3 * MiB + 9}) {
        expect_right(flow(method_of(ends), ends.source, ends.destination, bytes,
                          {{"blocks", "0"}, {"threads", "256"}, {"unroll", unroll}}),
                     std::string(method_of(ends)) + " " + std::to_string(bytes) + " B by tiles");
      }
    }
  }
}

TEST_F(DirectAccess, ByTilesOfMoreRepeatsThanAGridHoldsIsRight) {
  const Prepared prepared = prepare(flow("kernel-read", "device", nullptr, 4096, {{"blocks", "0"}}), slots);
  EXPECT_EQ(fault_after(*prepared.transfer, 70000, Clock::device, seed), "");
}

// --- STREAM

constexpr std::array<const char*, 4> operations = {"copy", "scale", "add", "triad"};

TEST_F(DirectAccess, StreamGivesTheExactResultsWhereverArraysLie) {
  constexpr std::array<Ends, 4> places = {
      {{"device", "device"}, {"pinned", "device"}, {"device", "pinned"}, {"managed", "managed"}}};
  for (const char* operation : operations) {
    for (const Ends& ends : places) {
      for (const Bytes bytes : {Bytes{8}, Bytes{4104}, MiB, 8 * MiB + 8}) {
        expect_right(flow("stream", ends.source, ends.destination, bytes, {{"operation", operation}}),
                     std::string("stream ") + operation + " " + std::to_string(bytes) + " B " + ends.source);
      }
    }
  }
}

TEST_F(DirectAccess, StreamReachesArraysOnThePeer) {
  const auto far = peer();
  if (!far) GTEST_SKIP() << "needs two GPUs with peer access";
  for (const char* operation : operations) {
    Flow both = flow("stream", "device", "device", MiB, {{"operation", operation}});
    both.source = far;
    Flow reading = both;  // remote read, local write
    both.destination = far;
    expect_right(both, std::string(operation) + " on the peer");
    expect_right(reading, std::string(operation) + " from the peer");
  }
}

TEST_F(DirectAccess, StreamCountsWhatItReadsAndWrites) {
  for (const auto& [operation, times] : {std::pair{"copy", 2}, {"scale", 2}, {"add", 3}, {"triad", 3}}) {
    const Prepared prepared = prepare(flow("stream", "device", "device", MiB, {{"operation", operation}}));
    EXPECT_EQ(prepared.transfer->facts().touched_bytes, times * MiB) << operation;
  }
}

TEST_F(DirectAccess, StreamFindsAWrongResultAndAWrongArray) {
  for (const char* operation : operations) {
    const Flow wanted = flow("stream", "device", "device", MiB, {{"operation", operation}});
    EXPECT_NE(fault_after_damage(wanted, 4096).find("byte 4096"), std::string::npos) << operation;
    const Prepared prepared = prepare(wanted);
    prepared.transfer->arm(seed);
    prepared.source->poison(4096, 8);
    static_cast<void>(gate().run({{prepared.transfer.get(), 1}}, Clock::device));
    EXPECT_TRUE(prepared.transfer->verify(seed)) << operation;
  }
  for (const char* operation : {"add", "triad"}) {  // b is behind a
    const Prepared prepared = prepare(flow("stream", "device", "device", MiB, {{"operation", operation}}));
    prepared.transfer->arm(seed);
    prepared.source->poison(MiB + 4096, 8);
    static_cast<void>(gate().run({{prepared.transfer.get(), 1}}, Clock::device));
    EXPECT_TRUE(prepared.transfer->verify(seed)) << operation;
  }
}

TEST_F(DirectAccess, StreamRefusesWhatIsNoArrayOfDoubles) {
  EXPECT_NE(refusal(flow("stream", "device", "device", 4)), "");
  EXPECT_NE(refusal(flow("stream", "device", nullptr, 4096)), "");
}

// --- bulk copies

TEST_F(DirectAccess, BulkCopiesDeliverEveryByteByEveryShape) {
  if (!has_bulk_copies()) GTEST_SKIP() << refusal(flow("kernel-bulk-copy", "device", "device", 4096));
  for (const Ends& ends : {Ends{"device", "device"}, Ends{"pinned", "device"}, Ends{"device", "pinned"}}) {
    for (const Bytes bytes : {Bytes{1}, Bytes{16}, Bytes{4097}, 3 * MiB + 9, 24 * MiB}) {
      expect_right(flow("kernel-bulk-copy", ends.source, ends.destination, bytes),
                   std::string("bulk copy of ") + std::to_string(bytes) + " B from " + ends.source);
    }
    for (const char* stages : {"2", "4", "8", "16"}) {
      for (const char* stage_bytes : {"16", "48", "4096"}) {
        expect_right(
            flow("kernel-bulk-copy", ends.source, ends.destination, 100 * KiB + 7,
                 {{"blocks", "3"}, {"threads", "64"}, {"stages", stages}, {"stage_bytes", stage_bytes}}),
            std::string("bulk copy by ") + stages + " stages of " + stage_bytes + " B");
      }
    }
  }
}

TEST_F(DirectAccess, BulkCopiesPushToAndPullFromAPeer) {
  const auto far = peer();
  if (!far) GTEST_SKIP() << "needs two GPUs with peer access";
  if (!has_bulk_copies()) GTEST_SKIP() << refusal(flow("kernel-bulk-copy", "device", "device", 4096));
  Flow push = flow("kernel-bulk-copy", "device", "device", 8 * MiB + 3);
  Flow pull = push;
  push.destination = far;
  pull.source = far;
  expect_right(push, "push");
  expect_right(pull, "pull");
}

TEST_F(DirectAccess, BulkCopiesFindDamage) {
  if (!has_bulk_copies()) GTEST_SKIP() << refusal(flow("kernel-bulk-copy", "device", "device", 4096));
  const Flow wanted = flow("kernel-bulk-copy", "device", "device", MiB);
  EXPECT_NE(fault_after_damage(wanted, 4096).find("4096"), std::string::npos);
}

// --- atomics

TEST_F(DirectAccess, AtomicsLoseNothing) {
  for (const char* operation : {"add", "exchange", "cas"}) {
    for (const char* width : {"4", "8"}) {
      for (const char* addresses : {"1", "7", "1000", "65536"}) {
        for (const char* memory : {"device", "pinned", "managed"}) {
          const Flow wanted = flow(
              "kernel-atomic", nullptr, memory, 16 * KiB,
              {{"operation", operation}, {"width", width}, {"addresses", addresses}, {"scope", "device"}});
          expect_right(
              wanted, std::string(operation) + " of " + width + " B on " + addresses + " words of " + memory);
        }
      }
    }
  }
}

TEST_F(DirectAccess, AtomicsFindALostOperation) {
  for (const char* operation : {"add", "exchange", "cas"}) {
    for (const auto& [width, bytes] : {std::pair<const char*, Bytes>{"4", 4}, {"8", 8}}) {
      const Flow wanted = flow("kernel-atomic", nullptr, "device", 64 * KiB,
                               {{"operation", operation}, {"width", width}, {"addresses", "128"}});
      const std::string fault = fault_after_damage(wanted, 16 * bytes, bytes);
      EXPECT_NE(fault.find("byte " + std::to_string(16 * bytes)), std::string::npos)
          << operation << ": " << fault;
    }
  }
}

TEST_F(DirectAccess, ExchangesThatWereNotAtomicAreFoundByWhatCameBack) {
  const Prepared prepared =
      prepare(flow("kernel-atomic", nullptr, "device", 1024, {{"operation", "exchange"}}));
  prepared.transfer->arm(seed);
  prepared.destination->fill(0, 4,
                             4711);  // so one gives back what nobody wrote
  static_cast<void>(gate().run({{prepared.transfer.get(), 1}}, Clock::device));
  EXPECT_TRUE(prepared.transfer->verify(seed));
}

TEST_F(DirectAccess, CompareAndSwapsSayHowOftenTheyTried) {
  const auto note = [&](const char* addresses) {
    const std::map<std::string, std::string> parameters{
        {"operation", "cas"}, {"addresses", addresses}, {"blocks", "8"}, {"threads", "128"}};
    const Prepared prepared = prepare(flow("kernel-atomic", nullptr, "device", 64 * KiB, parameters));
    EXPECT_EQ(fault_after(*prepared.transfer, repeats, Clock::device, seed), "");
    return prepared.transfer->notes().back();
  };
  EXPECT_EQ(note("16384").substr(0, 5), "1.00 ");  // nobody else wants the word
  EXPECT_NE(note("1").substr(0, 5), "1.00 ");
}

TEST_F(DirectAccess, AtomicsThatWouldNotBeAtomicAreRefusedForAReason) {
  Flow far = flow("kernel-atomic", nullptr, "pinned", 4096);
  const std::string reason = refusal(far);
  EXPECT_TRUE(reason.empty() || reason.find("native atomic") != std::string::npos) << reason;
  far.parameters.set("scope", "device");
  EXPECT_EQ(refusal(far), "");
  EXPECT_NE(refusal(flow("kernel-atomic", nullptr, "device", 4095)), "");
  EXPECT_THROW(refusal(flow("kernel-atomic", nullptr, "device", 4096, {{"operation", "max"}})), Error);
}

TEST_F(DirectAccess, AtomicsOnThePeerLoseNothing) {
  const auto far = peer();
  if (!far) GTEST_SKIP() << "needs two GPUs with peer access";
  for (const char* operation : {"add", "exchange", "cas"}) {
    Flow wanted =
        flow("kernel-atomic", nullptr, "device", 64 * KiB, {{"operation", operation}, {"addresses", "99"}});
    wanted.destination = far;
    if (const std::string reason = refusal(wanted); !reason.empty()) GTEST_SKIP() << reason;
    expect_right(wanted, std::string(operation) + " on the peer");
  }
}

}  // namespace
}  // namespace linkscope::testing
