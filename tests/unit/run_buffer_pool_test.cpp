// The pool: reuse, fit, limits and eviction.
#include <gtest/gtest.h>

#include "endpoints.hpp"
#include "fake_backend.hpp"
#include "run/buffer_pool.hpp"

namespace linkscope {
namespace {

Endpoint node(int index) {
  const DeviceId id{DeviceKind::numa, index};
  return endpoint(id, "pageable");
}

struct BufferPoolTest : testing::Test {
  FakeParts fakes = fake_backend();
  [[nodiscard]] BufferPool::Lease acquire(BufferPool& pool, const Endpoint& where, Bytes bytes) const {
    return pool.acquire(*fakes.memory, where, bytes);
  }
};

TEST_F(BufferPoolTest, ReusesWhatWasReturned) {
  BufferPool pool(GiB);
  std::byte* first = nullptr;
  {
    const auto lease = acquire(pool, node(0), 5000);
    first = lease->data();
    EXPECT_GE(lease->bytes(), 5000U);
  }
  EXPECT_EQ(acquire(pool, node(0), 6000)->data(), first);
  EXPECT_EQ(fakes.memory->allocations, 1);
}

TEST_F(BufferPoolTest, WhatIsNoLongerAsNewServesOneCase) {
  BufferPool pool(GiB);
  fakes.memory->reusable_on = 0;
  {
    const auto lease = acquire(pool, node(1), 5000);
    const auto beside = acquire(pool, node(1), 5000);
    EXPECT_EQ(pool.buffers(), 2U) << "what is in use stays";
  }
  static_cast<void>(acquire(pool, node(1), 5000));
  EXPECT_EQ(fakes.memory->allocations, 3);
  EXPECT_EQ(pool.buffers(), 1U);
  static_cast<void>(acquire(pool, node(0), 5000));
  static_cast<void>(acquire(pool, node(0), 5000));
  EXPECT_EQ(fakes.memory->allocations, 4) << "node 0's is taken again";
}

TEST_F(BufferPoolTest, TwoLeasesNeverShare) {
  BufferPool pool(GiB);
  const auto first = acquire(pool, node(0), 5000);
  const auto second = acquire(pool, node(0), 5000);
  EXPECT_NE(first->data(), second->data());
}

TEST_F(BufferPoolTest, AnotherPlacementIsAnotherBuffer) {
  BufferPool pool(GiB);
  Endpoint touched = node(0);
  touched.first_touch = DeviceId{DeviceKind::numa, 1};
  static_cast<void>(acquire(pool, node(0), 5000));
  static_cast<void>(acquire(pool, node(1), 5000));
  static_cast<void>(acquire(pool, touched, 5000));
  EXPECT_EQ(pool.buffers(), 3U);
}

TEST_F(BufferPoolTest, MemoryOfALibraryHasOneSizeWhereverThatMuchIsAskedFor) {
  BufferPool pool(GiB);
  Endpoint where = node(0);
  where.traits.by_library = true;
  static_cast<void>(acquire(pool, where, 8 * KiB));
  EXPECT_EQ(acquire(pool, where, 4 * KiB)->bytes(), 4 * KiB);
  EXPECT_EQ(acquire(pool, where, 4 * KiB)->bytes(), 4 * KiB);
  EXPECT_EQ(fakes.memory->allocations, 2);
}

TEST_F(BufferPoolTest, TakesTheSmallestThatFitsButNoGiant) {
  BufferPool pool(GiB);
  {
    const auto giant = acquire(pool, node(0), 8 * MiB);
    const auto fitting = acquire(pool, node(0), 2 * MiB);
    const auto larger = acquire(pool, node(0), 4 * MiB);
  }
  EXPECT_EQ(acquire(pool, node(0), MiB)->bytes(), 2 * MiB);
  static_cast<void>(acquire(pool, node(0), 4 * KiB));
  EXPECT_EQ(pool.buffers(), 4U) << "nothing at most four times as large was there";
}

TEST_F(BufferPoolTest, TheLimitEvictsTheLeastRecentlyUsed) {
  BufferPool pool(12 * MiB);
  static_cast<void>(acquire(pool, node(0), 8 * MiB));
  static_cast<void>(acquire(pool, node(1), 4 * MiB));
  static_cast<void>(acquire(pool, node(0), 8 * MiB));  // now node 1's is the older
  const auto third = acquire(pool, node(1), MiB);
  EXPECT_EQ(pool.buffers(), 2U) << "node 1's 4 MiB served it: at most four times as large";
  const auto fourth = acquire(pool, node(1), 2 * MiB);
  EXPECT_EQ(pool.buffers(), 2U) << "node 0's 8 MiB had to go, node 1's is in use";
  EXPECT_LE(pool.host_bytes(), 12 * MiB);
}

TEST_F(BufferPoolTest, WhatIsInUseIsNotEvicted) {
  BufferPool pool(12 * MiB);
  const auto lease = acquire(pool, node(0), 8 * MiB);
  try {
    static_cast<void>(acquire(pool, node(0), 8 * MiB));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::no_memory);
  }
}

TEST_F(BufferPoolTest, ARefusedAllocationIsTriedOnceMoreWithTheRestFreed) {
  BufferPool pool(GiB);
  static_cast<void>(acquire(pool, node(0), MiB));
  fakes.memory->refusals = 1;
  static_cast<void>(acquire(pool, node(1), MiB));
  EXPECT_EQ(pool.buffers(), 1U);
  fakes.memory->refusals = 2;
  EXPECT_THROW(static_cast<void>(acquire(pool, node(0), MiB)), Error);
}

}  // namespace
}  // namespace linkscope
