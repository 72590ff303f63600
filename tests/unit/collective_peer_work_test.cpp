// What members of a collective load and store, carried out by this thread on buffers in host memory.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include "collective/kernels/kernels.hpp"
#include "model/elements.hpp"

namespace linkscope::direct {
namespace {

using Kind = CollectiveKind;

struct Case {
  Kind kind = Kind::all_reduce;
  Division division = Division::one_shot;
  InPlace place = InPlace::out;
  int members = 4;
  Bytes bytes = 0;
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << name_of(one.kind) << " of " << one.bytes << " B, " << one.members << " members, "
             << (one.division == Division::two_shot ? "two-shot" : "one-shot")
             << (one.place == InPlace::in ? ", in place" : "");
}

using Numbers = std::vector<int>;

/// Every member's buffers; in place, its source is its destination.
class Buffers {
 public:
  explicit Buffers(const CollectiveShape& shape) {
    for (int member = 0; member < shape.members; ++member) {
      own_.push_back(std::make_unique<Numbers>(shape.bytes / 4, poison));
      results_.push_back(
          shape.place == InPlace::in
              ? own_.back().get()
              : (made_.push_back(std::make_unique<Numbers>(shape.bytes / 4, poison)), made_.back().get()));
      const Bytes block = shape.bytes / static_cast<Bytes>(shape.members) / 4;
      const bool lies_in_block = shape.place == InPlace::in && shape.kind == Kind::all_gather;
      const std::size_t begin = lies_in_block ? static_cast<std::size_t>(member) * block : 0;
      for (std::size_t i = 0; shape.sends(member) && i < shape.source_bytes() / 4; ++i)
        (*own_.back())[begin + i] = input_element(1, member, i);
      sources_.push_back(reinterpret_cast<const std::byte*>(own_.back()->data()));
      destinations_.push_back(reinterpret_cast<std::byte*>(results_.back()->data()));
    }
  }
  [[nodiscard]] const std::byte* const* sources() const { return sources_.data(); }
  [[nodiscard]] std::byte* const* destinations() const { return destinations_.data(); }
  [[nodiscard]] const Numbers& result(int member) const {
    return *results_[static_cast<std::size_t>(member)];
  }

  static constexpr int poison = 12345;

 private:
  std::vector<std::unique_ptr<Numbers>> own_, made_;
  std::vector<Numbers*> results_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
};

int number_at(const std::byte* from) {
  int number = 0;
  std::memcpy(&number, from, sizeof number);
  return number;
}

/// `stored`: where numbers have been stored to.
void carry_out(const PeerWork& work, std::multiset<const std::byte*>& stored) {
  const auto store = [&](std::byte* to, int number) {
    std::memcpy(to, &number, sizeof number);
    stored.insert(to);
  };
  for (Bytes at = 0; at < work.bytes; at += 4) {
    for (int job = 0; work.jobs > 1 && job < work.jobs; ++job)
      store(work.destinations[job] + at, number_at(work.sources[job] + at));
    if (work.jobs != 1) continue;
    int sum = 0;
    for (int s = 0; s < work.source_count; ++s) sum += number_at(work.sources[s] + at);
    for (int d = 0; d < work.destination_count; ++d) store(work.destinations[d] + at, sum);
  }
}

int expected(const CollectiveShape& shape, int member, std::size_t i) {
  const std::size_t block = shape.bytes / static_cast<Bytes>(shape.members) / 4;
  const auto own = static_cast<std::size_t>(member) * block;
  switch (shape.kind) {
    case Kind::all_reduce:
    case Kind::reduce:
      return summed_element(1, shape.members, i);
    case Kind::reduce_scatter:
      return summed_element(1, shape.members, own + i);
    case Kind::broadcast:
      return input_element(1, 0, i);
    case Kind::all_gather:
      return input_element(1, static_cast<int>(i / block), i % block);
    case Kind::all_to_all:
      return input_element(1, static_cast<int>(i / block), own + i % block);
    case Kind::barrier:
      break;
  }
  return 0;
}

class PeerWorkOf : public ::testing::TestWithParam<Case> {};

TEST_P(PeerWorkOf, AllMembersMakesTheCollectiveAndStoresNothingTwice) {
  const Case& one = GetParam();
  const CollectiveShape shape{one.kind, ElementType::int32, one.place, one.members, one.bytes};
  const Buffers buffers(shape);
  std::multiset<const std::byte*> stored;
  for (int member = 0; member < shape.members; ++member) {
    const PeerWork work = peer_work(shape, one.division, member, buffers.sources(), buffers.destinations());
    EXPECT_FALSE(work.is_barrier);
    carry_out(work, stored);
  }
  for (const std::byte* place : stored) EXPECT_EQ(stored.count(place), 1U);
  for (int member = 0; member < shape.members; ++member) {
    if (!shape.receives(member)) continue;
    for (std::size_t i = 0; i < shape.destination_bytes() / 4; ++i)
      ASSERT_EQ(buffers.result(member)[i], expected(shape, member, i)) << "member " << member << ", " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, PeerWorkOf,
                         ::testing::Values(Case{Kind::all_reduce, Division::one_shot, InPlace::out, 4, 100},
                                           Case{Kind::all_reduce, Division::two_shot, InPlace::out, 3, 4},
                                           Case{Kind::all_reduce, Division::two_shot, InPlace::in, 5, 244},
                                           Case{Kind::reduce, Division::one_shot, InPlace::out, 3, 48},
                                           Case{Kind::reduce, Division::two_shot, InPlace::out, 4, 1000},
                                           Case{Kind::broadcast, Division::one_shot, InPlace::out, 4, 36},
                                           Case{Kind::broadcast, Division::two_shot, InPlace::out, 4, 500},
                                           Case{Kind::broadcast, Division::two_shot, InPlace::in, 3, 500},
                                           Case{Kind::reduce_scatter, Division::one_shot, InPlace::out, 4,
                                                48},
                                           Case{Kind::all_gather, Division::one_shot, InPlace::out, 3, 36},
                                           Case{Kind::all_gather, Division::one_shot, InPlace::in, 4, 64},
                                           Case{Kind::all_to_all, Division::one_shot, InPlace::out, 5, 60}));

TEST(PeerWork, TakesVectorsWhereEveryPieceStartsOnOne) {
  const auto layout = [](Kind kind, Bytes bytes) {
    const CollectiveShape shape{kind, ElementType::int32, InPlace::out, 4, bytes};
    const Buffers buffers(shape);
    return peer_work(shape, Division::one_shot, 1, buffers.sources(), buffers.destinations()).layout;
  };
  EXPECT_EQ(layout(Kind::all_gather, 256), Layout::vectors);
  EXPECT_EQ(layout(Kind::all_gather, 16 * 4 + 16), Layout::elements);  // 20 bytes each
  EXPECT_EQ(layout(Kind::all_reduce, 100), Layout::vectors);           // starts on one, ends anywhere
}

TEST(PeerWork, AllHaveTheirBlockStoredByItsOwnSourceFirstToTheNext) {
  const CollectiveShape shape{Kind::all_to_all, ElementType::int32, InPlace::out, 4, 64};
  const Buffers buffers(shape);
  const PeerWork work = peer_work(shape, Division::one_shot, 2, buffers.sources(), buffers.destinations());
  EXPECT_EQ(work.jobs, 4);
  EXPECT_EQ(work.destinations[0], buffers.destinations()[3] + 32);
  EXPECT_EQ(work.sources[0], buffers.sources()[2] + 48);
}

}  // namespace
}  // namespace linkscope::direct
