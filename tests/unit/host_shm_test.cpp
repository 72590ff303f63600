// Messages by shared memory: two ends in one process, each on pages that the other maps.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/allocation.hpp"
#include "backend/host/backend.hpp"
#include "backend/host/page_mapping.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "endpoints.hpp"

namespace linkscope::host {
namespace {

class ShmMessages : public ::testing::Test {
 protected:
  [[nodiscard]] Endpoint end(int rank) const { return endpoint(node_, "shm", rank); }
  [[nodiscard]] Flow flow(const std::string& call, Bytes bytes) const {
    Flow flow;
    flow.method = "shm-copy";
    flow.source = end(0);
    flow.destination = end(1);
    flow.executor = node_;
    flow.bytes = bytes;
    flow.parameters.set("call", call);
    return flow;
  }
  std::unique_ptr<Buffer> arena(const std::optional<Endpoint>& where, Bytes bytes) {
    return where && bytes > 0 ? shm_->allocate(*where, bytes) : nullptr;
  }

  /// Both processes' parts, and the memory of each.
  struct Pair {
    std::vector<std::unique_ptr<Buffer>> arenas;
    std::vector<std::unique_ptr<PreparedParts>> parts;
    [[nodiscard]] Transfer& end(std::size_t at) const { return *parts[at]->transfers().front(); }
  };
  Pair assemble(const Flow& flow, const Rotation& rotation) {
    Pair pair;
    const std::vector<FlowPart> parts = method_.parts(flow);
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const Bytes bytes = flow.bytes == 0 ? 0 : rotation.stride * rotation.slots;
      pair.arenas.push_back(arena(parts[at].source, bytes));
      Buffer* const source = pair.arenas.back().get();
      pair.arenas.push_back(arena(parts[at].destination, bytes));
      const LocalPart own{at, {source, pair.arenas.back().get(), rotation}};
      pair.parts.push_back(method_.assemble(flow, {own}));
    }
    return pair;
  }
  static void connect(const Pair& pair) {
    const std::vector<std::string> exports{pair.parts[0]->export_handles(), pair.parts[1]->export_handles()};
    for (const auto& part : pair.parts) part->import_handles(exports);
  }

  HostBackend opened_ = open();
  DeviceId node_{DeviceKind::numa, opened_.context->topology().nearest_with_cpus(0).index};
  std::unique_ptr<Memory> shm_ = shm_memory(opened_.context);
  Method method_ = shm_copy(opened_.context);
  Gate& gate_ = *opened_.backend.gate;
};

TEST_F(ShmMessages, ArriveWholeInEverySlotThatTheyTake) {
  constexpr Bytes bytes = 5000;
  const Pair pair = assemble(flow("send", bytes), {8192, 3});
  connect(pair);
  for (const Clock clock : {Clock::host, Clock::batch}) {
    pair.end(0).arm(7);
    pair.end(1).arm(7);
    gate_.run({{&pair.end(0), 2}, {&pair.end(1), 2}}, clock);
    EXPECT_EQ(pair.end(0).verified_bytes(), 0U) << "nothing comes back";
    EXPECT_EQ(pair.end(1).verified_bytes(), 2 * bytes);
    EXPECT_FALSE(pair.end(1).verify(7).has_value());
    EXPECT_TRUE(pair.end(1).verify(8).has_value()) << "a check that accepts any data checks nothing";
  }
}

TEST_F(ShmMessages, GoThereAndBackInAPingPong) {
  const Flow ping_pong = flow("ping-pong", 64);
  EXPECT_EQ(method_.quantity_of(ping_pong), Quantity::latency);
  const Pair pair = assemble(ping_pong, {4096, 1});
  connect(pair);
  pair.end(0).arm(7);
  pair.end(1).arm(7);
  const std::vector<Span> spans = gate_.run({{&pair.end(0), 5}, {&pair.end(1), 5}}, Clock::host);
  EXPECT_GT(pair.end(0).counted(spans[0]).length(), 0);
  EXPECT_EQ(pair.end(0).facts().operations, 2U);
  for (const std::size_t at : {0U, 1U}) {
    EXPECT_EQ(pair.end(at).verified_bytes(), 64U);
    EXPECT_FALSE(pair.end(at).verify(7).has_value());
  }
  pair.arenas[1]->data()[9] ^= std::byte{1};
  const auto mismatch = pair.end(0).verify(7);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_NE(mismatch->what.find("byte 9 of 64"), std::string::npos) << mismatch->what;
}

TEST_F(ShmMessages, WithoutBytesAreAWord) {
  const Pair pair = assemble(flow("ping-pong", 0), {0, 1});
  connect(pair);
  gate_.run({{&pair.end(0), 3}, {&pair.end(1), 3}}, Clock::host);
  EXPECT_FALSE(pair.end(1).verify(7).has_value());
}

TEST_F(ShmMessages, NeedTwoProcessesOfOneHostAndAReceiverInShm) {
  Flow one_process = flow("send", 8);
  one_process.destination->rank = 0;
  EXPECT_NE(method_.supports(one_process).reason().find("both ends are in one"), std::string::npos);
  Flow into_pageable = flow("send", 8);
  move_to(*into_pageable.destination, "pageable");
  EXPECT_NE(method_.supports(into_pageable).reason().find("cannot map pageable"), std::string::npos);
  Flow from_pageable = flow("send", 8);
  move_to(*from_pageable.source, "pageable");
  EXPECT_TRUE(method_.supports(from_pageable));
  from_pageable.parameters.set("call", "ping-pong");
  EXPECT_FALSE(method_.supports(from_pageable)) << "messages come back there";
  EXPECT_THROW(static_cast<void>(method_.supports(flow("put", 8))), Error);

  const Pair pair = assemble(flow("send", 8), {4096, 1});
  std::string elsewhere = pair.parts[1]->export_handles();
  const std::string boot = boot_id();
  ASSERT_FALSE(boot.empty());
  elsewhere[elsewhere.find(boot)] ^= 1;
  try {
    pair.parts[0]->import_handles({"", elsewhere});
    FAIL() << "that host's memory cannot be mapped";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::unsupported);
    EXPECT_NE(std::string(error.what()).find("different hosts"), std::string::npos);
  }
  EXPECT_THROW(pair.parts[0]->import_handles({"", "less"}), Error);
}

TEST(MemoryFiles, AreMappedByThoseWhoKnowThemAlone) {
  const MemoryFile file(8192);
  const MappedPages own = file.map();
  const MappedPages same = map_foreign(file.key());
  own.get()[5000] = std::byte{42};
  EXPECT_EQ(same.get()[5000], std::byte{42});
  MemoryFile::Key another = file.key();
  another.inode ^= 1;
  EXPECT_THROW(static_cast<void>(map_foreign(another)), Error) << "that number is of another file";
  another = file.key();
  another.bytes *= 2;
  EXPECT_THROW(static_cast<void>(map_foreign(another)), Error) << "it is not that large";
  another.descriptor = 9999;
  EXPECT_THROW(static_cast<void>(map_foreign(another)), Error);
}

/// A sanitizer's own memory would be touched, too.
__attribute__((no_sanitize("address"))) void touch_pages(std::byte* at, Bytes bytes) {
  for (Bytes offset = 0; offset < bytes; offset += 4096) at[offset] = std::byte{1};
}

TEST(MemoryFiles, AreWrittenWithoutAFaultWhereTheyWereMapped) {
  constexpr Bytes bytes = 8 * MiB;
  const MemoryFile file(bytes);
  const MappedPages pages = map_foreign(file.key());
  const auto faults = [] {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_minflt;
  };
  const long before = faults();
  touch_pages(pages.get(), bytes);
  EXPECT_LT(faults() - before, 64) << "of 2048 pages";
}

TEST_F(ShmMessages, LieInMemoryWhoseAllocationIsNotTimed) {
  Flow allocation;
  allocation.method = "allocate";
  allocation.destination = end(0);
  EXPECT_NE(names_host_memory(allocation).reason().find("not shm"), std::string::npos);
}

}  // namespace
}  // namespace linkscope::host
