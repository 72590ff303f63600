// Faults planted into a collective that threads carry out, and whether a measured case finds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "measure/case_measurement.hpp"
#include "model/collective_check.hpp"
#include "model/pattern.hpp"
#include "packet_threads.hpp"

namespace linkscope::direct {
namespace {

constexpr int members = 3;
constexpr Bytes whole = 52;

/// Plain memory that holds elements.
class PlainBuffer final : public Buffer {
 public:
  PlainBuffer() : Buffer({}, whole), memory_(whole) {}
  [[nodiscard]] std::byte* data() const override { return const_cast<std::byte*>(memory_.data()); }
  void fill(Bytes /*offset*/, Bytes /*length*/, std::uint64_t /*seed*/) override {}
  void poison(Bytes offset, Bytes length) override { std::memset(data() + offset, poison_byte, length); }
  [[nodiscard]] std::optional<Bytes> compare(Bytes, Bytes, std::uint64_t) const override {
    return std::nullopt;
  }
  void fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) override {
    for (Bytes i = 0; i < length / 4; ++i) {
      const std::uint32_t bits = element_bits(elements.type, element_at(elements, seed, i));
      std::memcpy(data() + offset + 4 * i, &bits, sizeof bits);
    }
  }
  [[nodiscard]] std::optional<Bytes> compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                      std::uint64_t seed) const override {
    for (Bytes i = 0; i < length / 4; ++i) {
      const std::uint32_t bits = element_bits(elements.type, element_at(elements, seed, i));
      if (std::memcmp(data() + offset + 4 * i, &bits, sizeof bits) != 0) return 4 * i;
    }
    return std::nullopt;
  }
  void flush(Bytes /*offset*/, Bytes /*length*/) override {}

 private:
  std::vector<std::byte> memory_;
};

/// A member's memory, as a worker reads and writes it.
class MemoryEnds {
 public:
  MemoryEnds(const Buffer& source, const Buffer& destination)
      : source_(&source), destination_(&destination) {}
  void begin(std::uint64_t /*call*/) {}
  [[nodiscard]] int take(const Pieces& pieces, int piece, Extent at) const {
    int number = 0;
    const Extent from = pieces.source_step * static_cast<Extent>(piece) + at;
    std::memcpy(&number, source_->data() + from, sizeof number);
    return number;
  }
  void put(const Pieces& pieces, int piece, Extent at, int number) {
    const Extent to = pieces.destination_step * static_cast<Extent>(piece) + at;
    std::memcpy(destination_->data() + to, &number, sizeof number);
  }

 private:
  const Buffer* source_;
  const Buffer* destination_;
};

/// One member: its memory, and its workers, which go on from call to call.
class Member final : public Transfer {
 public:
  Member(const Node& node, int index, InPlace place, Planted planted)
      : shape_{node.arrangement().kind, ElementType::int32, place, members, whole},
        check_(shape_, index, {place == InPlace::out ? &source_ : nullptr, &destination_, {whole, 1}}) {
    const Buffer& from = place == InPlace::out ? source_ : destination_;
    for (Extent worker = 0; worker < workers; ++worker)
      ports_.emplace_back(node, index, worker, MemoryEnds(from, destination_), planted);
    shape_.state_in(own_facts());
  }
  void arm(std::uint64_t seed) override { check_.arm(seed); }
  void restore() override { check_.restore(1); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return check_.verify(seed, 1);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return check_.verified_bytes(1); }
  void flush() override {}

  [[nodiscard]] std::vector<ThreadPort<MemoryEnds>>& ports() { return ports_; }
  [[nodiscard]] bool all_zero() const {
    const std::byte* at = destination_.data();
    return std::all_of(at, at + whole, [](std::byte byte) { return byte == std::byte{0}; });
  }
  using Transfer::own_facts;

 private:
  CollectiveShape shape_;
  PlainBuffer source_, destination_;
  CollectiveCheck check_;
  std::vector<ThreadPort<MemoryEnds>> ports_;
};

/// Lets all members' threads make their calls.
class ThreadsGate final : public Gate {
 public:
  explicit ThreadsGate(const Arrangement& arrangement) : arrangement_(arrangement) {}
  [[nodiscard]] Support accepts(const Transfer& /*transfer*/) const override { return Support::yes(); }
  void hold(const std::vector<Lane>& lanes, Clock /*clock*/) override { lanes_ = lanes; }
  void open() override {}
  std::vector<Span> collect() override {
    const Seconds start = steady_seconds();
    std::vector<std::thread> threads;
    for (const Lane& lane : lanes_) {
      for (ThreadPort<MemoryEnds>& port : dynamic_cast<Member&>(*lane.transfer).ports())
        threads.emplace_back([this, &port, &lane] { launch(port, arrangement_, lane.repeats); });
    }
    for (std::thread& thread : threads) thread.join();
    const Seconds end = steady_seconds();
    most_ = std::max(most_, lanes_.front().repeats);
    for (const Lane& lane : lanes_)
      all_zero_ = all_zero_ || dynamic_cast<const Member&>(*lane.transfer).all_zero();
    return {lanes_.size(), Span{start, end, end}};
  }
  [[nodiscard]] Seconds resolution(Clock /*clock*/) const override { return 0; }

  [[nodiscard]] std::uint64_t most_repeats() const { return most_; }
  [[nodiscard]] bool ended_on_zeros() const { return all_zero_; }

 private:
  Arrangement arrangement_;
  std::vector<Lane> lanes_;
  std::uint64_t most_ = 0;
  bool all_zero_ = false;
};

/// Whether members say that they are a collective, as all do.
enum class Stated { yes, no };

struct Found {
  std::string what;  ///< empty: nothing
  std::uint64_t most_repeats = 0;
  bool ended_on_zeros = false;
};

/// Measures an all-reduce whose last member has that fault.
Found measure(Planted planted, Stated stated, InPlace place = InPlace::out) {
  const Arrangement arrangement{CollectiveKind::all_reduce, Trips::one, members, whole};
  const Node node(arrangement);
  std::vector<std::unique_ptr<Member>> all;
  MeasuredFlow flow{{}, whole, Role::measured, Quantity::bandwidth, "", {}};
  for (int index = 0; index < members; ++index) {
    const bool faulty = index + 1 == members;
    all.push_back(std::make_unique<Member>(node, index, place, faulty ? planted : Planted::nothing));
    if (stated == Stated::no) all.back()->own_facts().collective = false;
    flow.parts.push_back({all.back().get()});
  }
  ThreadsGate gate(arrangement);
  MeasurementSession session{{}, steady_seconds, 1, {}};
  session.options.max_samples = 4;
  session.options.min_sample_s = 0.005;  // many calls
  session.options.point_budget_s = 0.1;
  Found found;
  try {
    static_cast<void>(measure_case(session, gate, {flow}, {}));
  } catch (const Error& error) {
    if (error.fault() != Fault::mismatch) throw;
    found.what = error.what();
  }
  found.most_repeats = gate.most_repeats();
  found.ended_on_zeros = gate.ended_on_zeros();
  return found;
}

TEST(CollectiveFaults, ASoundCollectivePasses) {
  EXPECT_EQ(measure(Planted::nothing, Stated::yes).what, "");
  EXPECT_EQ(measure(Planted::nothing, Stated::yes, InPlace::in).what, "");
}

// Repeated calls have the same inputs, so that neither fault shows in them.
TEST(CollectiveFaults, AStaleReadFromTheSecondCallOnIsFoundByCallsWithNewInputs) {
  EXPECT_EQ(measure(Planted::stale_read, Stated::no).what, "");
  EXPECT_NE(measure(Planted::stale_read, Stated::yes).what.find("of member 2"), std::string::npos);
}

TEST(CollectiveFaults, ACallThatStoresNothingIsFoundByCallsWithPoisonedOutputs) {
  EXPECT_EQ(measure(Planted::lost_call, Stated::no).what, "");
  EXPECT_NE(measure(Planted::lost_call, Stated::yes).what.find("of member 2"), std::string::npos);
}

TEST(CollectiveFaults, InPlaceNoStartEndsOnZeros) {
  const Found found = measure(Planted::nothing, Stated::yes, InPlace::in);
  EXPECT_GT(found.most_repeats, 1U);
  EXPECT_LE(found.most_repeats,
            (CollectiveShape{CollectiveKind::all_reduce, ElementType::int32, InPlace::in, members, whole})
                .most_calls());
  EXPECT_FALSE(found.ended_on_zeros);
}

}  // namespace
}  // namespace linkscope::direct
