// The packer of GPUs: what it packs, unpacks, fills and finds is what the host's does.
#include <cstring>
#include <set>
#include <vector>

#include "backend/gpu/vendor.hpp"
#include "model/packer.hpp"
#include "model/schedule.hpp"
#include "open_gpus.hpp"
#include "workload/host_packer.hpp"

namespace linkscope::testing {
namespace {

constexpr std::uint64_t seed = 42;
constexpr const char* message_memories[] = {"device", "pinned", "registered", "managed", "pageable"};

Particle* particles_at(std::byte* at) { return reinterpret_cast<Particle*>(at); }

class GpuPacking : public WithGpus {
 protected:
  void SetUp() override {
    WithGpus::SetUp();
    if (!IsSkipped()) packer_ = packer("device");
  }
  /// Of state on gpu:0 and of messages in that memory.
  [[nodiscard]] std::unique_ptr<Packer> packer(const std::string& messages) const {
    return backend_->gpu_packer(at("device"), at(messages));
  }
  /// The same; null where this GPU does not reach such memory.
  [[nodiscard]] std::unique_ptr<Packer> packer_if_any(const std::string& messages) const {
    try {
      return packer(messages);
    } catch (const Error& error) {
      if (error.fault() != Fault::unsupported) throw;
      return nullptr;
    }
  }
  [[nodiscard]] std::unique_ptr<Buffer> device(Bytes bytes) const {
    auto made = memory("device").allocate(at("device"), bytes);
    made->poison(0, bytes);
    return made;
  }
  static void move(std::byte* to, const std::byte* from, Bytes bytes) {
    ASSERT_EQ(gpuMemcpy(to, from, bytes, gpuMemcpyDefault), gpuSuccess);
    ASSERT_EQ(gpuDeviceSynchronize(), gpuSuccess);
  }
  [[nodiscard]] static std::vector<std::byte> bytes_at(const std::byte* from, Bytes bytes) {
    std::vector<std::byte> found(bytes);
    move(found.data(), from, bytes);
    return found;
  }

  std::unique_ptr<Packer> packer_;
  workload::HostPacker host_packer_{endpoint({DeviceKind::numa, 0}, "pageable")};
};

/// A field of 33 x 21 words.
struct SmallField {
  static constexpr Bytes pitch = 40 * word_bytes;
  static constexpr Bytes bytes = 21 * pitch;
  static GridBox box(std::byte* base) { return {base, pitch, 33, 21, 1000, 500}; }
};

TEST_F(GpuPacking, ABoxIsFilledAsTheHostFillsItAndAWrongWordIsFound) {
  const auto field = device(SmallField::bytes);
  const GridBox box = SmallField::box(field->data());
  packer_->fill(box, seed);
  packer_->synchronise();
  auto copy = bytes_at(field->data(), SmallField::bytes);
  EXPECT_FALSE(host_packer_.compare(SmallField::box(copy.data()), seed));
  EXPECT_FALSE(packer_->compare(box, seed));
  EXPECT_TRUE(packer_->compare(box, seed + 1));

  for (const auto& [column, row] : {std::pair{32U, 20U}, std::pair{7U, 4U}}) {  // the later one first
    field->poison(row * SmallField::pitch + column * word_bytes, 1);
    const auto wrong = packer_->compare(box, seed);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->column, column);
    EXPECT_EQ(wrong->row, row);
  }
  packer_->poison(box);
  const auto first = packer_->compare(box, seed);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->column + first->row, 0U);
}

TEST_F(GpuPacking, RowsAndWordsGoThroughEveryMemoryAndBack) {
  constexpr std::uint64_t words = 3;
  constexpr std::uint64_t rows = 19;
  constexpr Bytes message_bytes = (words * rows + 11) * word_bytes;
  for (const char* name : message_memories) {
    const auto packs = packer_if_any(name);
    if (packs == nullptr) continue;
    const auto field = device(SmallField::bytes);
    const auto back = device(SmallField::bytes);
    packs->fill(SmallField::box(field->data()), seed);
    std::byte* const message = packs->allocate(message_bytes);
    const auto rows_of = [&](std::byte* message_at, std::byte* field_at) {
      return std::vector<PackedRows>{
          {message_at, words * word_bytes, field_at + 2 * SmallField::pitch, SmallField::pitch, words, rows},
          {message_at + words * rows * word_bytes, 0, field_at + 16, 0, 11, 1}};
    };
    packs->copy(rows_of(message, field->data()));
    packs->synchronise();
    auto host_field = bytes_at(field->data(), SmallField::bytes);
    std::vector<std::byte> host_message(message_bytes);
    host_packer_.copy(rows_of(host_message.data(), host_field.data()));
    EXPECT_EQ(bytes_at(message, message_bytes), host_message) << name;

    std::vector<PackedRows> unpacked = rows_of(message, back->data());
    for (PackedRows& one : unpacked) {
      std::swap(one.from_pitch, one.to_pitch);
      std::byte* const to = const_cast<std::byte*>(one.from);
      one.from = std::exchange(one.to, to);
    }
    packs->copy(unpacked);
    packs->synchronise();
    const auto came = bytes_at(back->data(), SmallField::bytes);
    for (std::uint64_t row = 2; row < 2 + rows; ++row) {
      const Bytes offset = row * SmallField::pitch;
      EXPECT_EQ(std::memcmp(came.data() + offset, host_field.data() + offset, words * word_bytes), 0) << name;
    }
    EXPECT_EQ(came[SmallField::pitch * 2 + words * word_bytes], std::byte{poison_byte})
        << "no more than asked";
    packs->release(message);
  }
}

TEST_F(GpuPacking, ParticlesAreMadeQueuedPackedAndUnpackedAsOnTheHost) {
  constexpr std::uint64_t count = 3000;
  constexpr std::uint64_t first_id = 100;
  constexpr std::uint64_t from = 17;
  const std::vector<Departure> departures{{3, 1000}, {1, 57}, {7, 0}, {5, 900}};
  for (const char* name : message_memories) {
    const auto packs = packer_if_any(name);
    if (packs == nullptr) continue;
    const auto store = device(count * sizeof(Particle));
    packs->make_particles(particles_at(store->data()), first_id, count, seed);
    packs->fill_queue(from, departures);
    std::uint64_t next = first_id + from;
    for (const Departure& departure : departures) {
      if (departure.count == 0) continue;
      const Bytes bytes = particle_header_bytes + departure.count * particle_bytes;
      std::byte* const message = packs->allocate(bytes);
      Particle* const from_store = particles_at(store->data());
      EXPECT_EQ(packs->pack_particles(from_store, {2, 1}, message), 0U) << "none goes there";
      EXPECT_EQ(packs->pack_particles(from_store, {departure.peer, departure.count - 1}, message),
                departure.count);
      ASSERT_EQ(packs->pack_particles(from_store, departure, message), departure.count) << name;
      packs->synchronise();
      const auto on_host = bytes_at(message, bytes);
      std::vector<Particle> came(departure.count);
      ASSERT_EQ(host_packer_.unpack_particles(came.data(), 0, on_host.data(), departure.count),
                departure.count);
      std::vector<std::int32_t> seen(first_id + count, 0);
      EXPECT_FALSE(host_packer_.count_particles(came.data(), 0, departure.count, seed, seen)) << name;
      for (std::uint64_t id = 0; id < seen.size(); ++id)
        ASSERT_EQ(seen[id], id >= next && id < next + departure.count ? 1 : 0) << name << ", particle " << id;
      next += departure.count;

      const auto back = device((departure.count + 5) * sizeof(Particle));
      ASSERT_EQ(packs->unpack_particles(particles_at(back->data()), 5, message, departure.count),
                departure.count);
      packs->synchronise();
      const auto unpacked = bytes_at(back->data() + 5 * sizeof(Particle), departure.count * sizeof(Particle));
      EXPECT_EQ(std::memcmp(unpacked.data(), came.data(), unpacked.size()), 0) << name;
      packs->release(message);
    }
  }
}

TEST_F(GpuPacking, WhatTheHostPacksIsUnpackedWordForWord) {
  constexpr std::uint64_t count = 333;
  std::vector<Particle> store(count);
  host_packer_.make_particles(store.data(), 0, count, seed);
  host_packer_.fill_queue(0, {{1, count}});
  std::vector<std::byte> message(particle_header_bytes + count * particle_bytes);
  ASSERT_EQ(host_packer_.pack_particles(store.data(), {1, count}, message.data()), count);
  const auto there = device(message.size());
  move(there->data(), message.data(), message.size());
  const auto back = device(count * sizeof(Particle));
  ASSERT_EQ(packer_->unpack_particles(particles_at(back->data()), 0, there->data(), count), count);
  packer_->synchronise();
  const auto came = bytes_at(back->data(), count * sizeof(Particle));
  EXPECT_EQ(std::memcmp(came.data(), store.data(), came.size()), 0);
}

TEST_F(GpuPacking, LostDoubledAndAlteredParticlesAreFound) {
  constexpr std::uint64_t count = 2000;
  const auto store = device(count * sizeof(Particle));
  Particle* const particles = particles_at(store->data());
  packer_->make_particles(particles, 0, count, seed);
  packer_->synchronise();
  move(store->data() + 600 * sizeof(Particle), store->data() + 599 * sizeof(Particle), sizeof(Particle));
  std::vector<std::int32_t> seen(count, 1);
  EXPECT_FALSE(packer_->count_particles(particles, 0, count, seed, seen));
  EXPECT_EQ(seen[598], 2);
  EXPECT_EQ(seen[599], 3) << "doubled";
  EXPECT_EQ(seen[600], 1) << "lost";

  store->poison(700 * sizeof(Particle) + 135, 1);
  store->poison(640 * sizeof(Particle) + 24, 8);
  EXPECT_EQ(packer_->count_particles(particles, 0, count, seed, seen), 640U);
  EXPECT_EQ(packer_->count_particles(particles, 641, count, seed, seen), 700U);
  EXPECT_FALSE(packer_->count_particles(particles, 701, count, seed, seen));
  std::vector<std::int32_t> few(10, 0);
  EXPECT_EQ(packer_->count_particles(particles, 0, count, seed, few), 10U) << "an id that there is not";
}

TEST_F(GpuPacking, AFieldInRegisteredMemoryIsFilledAndCompared) {
  const auto field = memory("registered").allocate(at("registered"), SmallField::bytes);
  const auto packs = backend_->gpu_packer(at("registered"), at("device"));
  field->poison(0, SmallField::bytes);
  packs->fill(SmallField::box(field->data()), seed);
  packs->synchronise();
  EXPECT_FALSE(host_packer_.compare(SmallField::box(field->data()), seed));
  EXPECT_FALSE(packs->compare(SmallField::box(field->data()), seed));
}

TEST_F(GpuPacking, MoreDeparturesThanOneLaunchTakes) {
  constexpr int peers = 150;
  std::vector<Departure> departures;
  std::uint64_t all = 0;
  for (int peer = 0; peer < peers; ++peer) {
    departures.push_back({peer, static_cast<std::uint64_t>(peer % 7)});
    all += departures.back().count;
  }
  const auto store = device(all * sizeof(Particle));
  packer_->make_particles(particles_at(store->data()), 0, all, seed);
  packer_->fill_queue(0, departures);
  std::vector<std::int32_t> seen(all, 0);
  for (const Departure& departure : departures) {
    if (departure.count == 0) continue;
    const auto message = device(particle_header_bytes + departure.count * particle_bytes);
    ASSERT_EQ(packer_->pack_particles(particles_at(store->data()), departure, message->data()),
              departure.count);
    const auto back = device(departure.count * sizeof(Particle));
    ASSERT_EQ(packer_->unpack_particles(particles_at(back->data()), 0, message->data(), departure.count),
              departure.count);
    EXPECT_FALSE(packer_->count_particles(particles_at(back->data()), 0, departure.count, seed, seen));
  }
  EXPECT_EQ(std::set<std::int32_t>(seen.begin(), seen.end()), std::set<std::int32_t>{1});
}

TEST_F(GpuPacking, MemoryThatNoApplicationAllocatesForAMessageIsRefused) {
  const auto packs = packer_if_any("huge");
  if (packs == nullptr) GTEST_SKIP() << "this GPU reaches no pageable memory";
  EXPECT_THROW(static_cast<void>(packs->allocate(64)), Error);
}

}  // namespace
}  // namespace linkscope::testing
