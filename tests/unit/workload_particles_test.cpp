// Particle exchanges by ranks of one process, and how a CPU packs particles.
#include <gtest/gtest.h>

#include <cstring>

#include "workload_ranks.hpp"

namespace linkscope::workload {
namespace {

ScheduledMessage particles(int from, int to, std::uint64_t count) { return {from, to, 8 + count * 136}; }

/// Three ranks in a row. Round 0 has two passes; what arrives is handed on in round 1; round 2 sends nothing.
Schedule exchange(Termination how) {
  Schedule schedule;
  schedule.ranks = 3;
  schedule.particles = ParticleDeck{{20, 9, 15}, {{1}, {0, 2}, {1}}, 8};
  schedule.loops = {{2,
                     {Phase{.name = "round 0, pass 0", .messages = {particles(0, 1, 8), particles(2, 1, 1)}},
                      Phase{.name = "round 0, pass 1",
                            .messages = {particles(0, 1, 3), particles(1, 2, 5), particles(1, 0, 4)},
                            .termination = how},
                      Phase{.name = "round 1", .messages = {particles(1, 2, 8)}, .termination = how},
                      Phase{.name = "round 2", .termination = how},
                      Phase{.name = "cycle end",
                            .collectives = {{.count = 0}, {NumberType::float64, ReduceOp::sum, 13}}}}}};
  return schedule;
}

class ParticleTest : public testing::TestWithParam<Termination> {};

TEST_P(ParticleTest, NoneIsLostDuplicatedOrAltered) {
  Ranks ranks(exchange(GetParam()));
  ranks.run(3);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.failure(rank), "");
  EXPECT_EQ(ranks.wrong(), "");
  const auto told = ranks.transfer(1).breakdown();
  ASSERT_TRUE(told);
  EXPECT_GT(told->parts.at("pack"), 0);
  EXPECT_GT(told->parts.at("collectives"), 0);
}

INSTANTIATE_TEST_SUITE_P(Tests, ParticleTest,
                         testing::Values(Termination::blocking, Termination::non_blocking));

TEST(ParticleFaultTest, AScheduleThatEndsTooEarlyIsFoundByTheTerminationTest) {
  Schedule schedule = exchange(Termination::blocking);
  schedule.loops[0].phases.erase(schedule.loops[0].phases.begin() + 3);
  Ranks ranks(schedule);
  ranks.run();
  EXPECT_NE(ranks.failure(0).find("none is"), std::string::npos) << ranks.failure(0);
}

TEST(ParticleFaultTest, ARankThatHasNotWhatItIsToSendFailsAndTheOthersDoNotHang) {
  Schedule schedule = exchange(Termination::blocking);
  schedule.particles->stock[1] = 2;
  Ranks ranks(schedule);
  ranks.run();
  EXPECT_NE(ranks.failure(1).find("particles left"), std::string::npos) << ranks.failure(1);
  EXPECT_NE(ranks.failure(0), "");
  EXPECT_NE(ranks.failure(2), "");
}

TEST(HostPackerTest, AMessageHasItsNumberThenColumnByColumn) {
  HostPacker packer(host_end);
  std::vector<Particle> store(4);
  packer.make_particles(store.data(), 10, 4, 3);
  packer.fill_queue(1, {{5, 2}, {6, 1}});
  std::vector<std::byte> message(8 + 2 * 136);
  EXPECT_EQ(packer.pack_particles(store.data(), {6, 2}, message.data()), 1U) << "and packs none";
  EXPECT_EQ(packer.pack_particles(store.data(), {5, 2}, message.data()), 2U);
  std::int32_t header[4];
  std::memcpy(header, message.data(), sizeof header);
  EXPECT_EQ(header[0], 2);
  EXPECT_EQ(header[1], 0);
  EXPECT_EQ(header[2], store[1].whole[0]);
  EXPECT_EQ(header[3], store[2].whole[0]);
  double real = 0;
  std::memcpy(&real, message.data() + 8 + 2 * 24 + sizeof(double), sizeof real);
  EXPECT_EQ(std::memcmp(&real, &store[2].real[0], sizeof real), 0);
  EXPECT_EQ(static_cast<char>(message.back()), store[2].text[15]);
  std::vector<Particle> other(2);
  EXPECT_EQ(packer.unpack_particles(other.data(), 0, message.data(), 2), 2U);
  EXPECT_EQ(std::memcmp(other.data(), &store[1], 2 * sizeof(Particle)), 0);
}

TEST(HostPackerTest, AMessageThatSaysAnotherNumberThanItHasIsUnpackedAsFarAsItGoes) {
  HostPacker packer(host_end);
  std::vector<Particle> store(2);
  packer.make_particles(store.data(), 0, 2, 3);
  packer.fill_queue(0, {{1, 1}});
  std::vector<std::byte> message(8 + 136);
  EXPECT_EQ(packer.pack_particles(store.data(), {1, 1}, message.data()), 1U);
  const std::int32_t damaged = 1 << 20;
  std::memcpy(message.data(), &damaged, sizeof damaged);
  std::vector<Particle> other(1);
  EXPECT_EQ(packer.unpack_particles(other.data(), 0, message.data(), 1), 1U << 20U);
  EXPECT_EQ(std::memcmp(other.data(), store.data(), sizeof(Particle)), 0);
}

TEST(HostPackerTest, AParticleThatIsAlteredIsNamedAndOthersAreCountedByNumber) {
  HostPacker packer(host_end);
  std::vector<Particle> store(4);
  packer.make_particles(store.data(), 0, 4, 3);
  std::vector<std::int32_t> seen(4);
  EXPECT_EQ(packer.count_particles(store.data(), 0, 4, 3, seen), std::nullopt);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{1, 1, 1, 1}));
  store[3] = store[0];
  seen.assign(4, 0);
  EXPECT_EQ(packer.count_particles(store.data(), 0, 4, 3, seen), std::nullopt);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{2, 1, 1, 0}));
  store[2].text[7] ^= 1;
  EXPECT_EQ(packer.count_particles(store.data(), 0, 4, 3, seen), 2U);
}

/// Copies what it unpacked first over what it unpacked last.
class DoublingPacker final : public HostPacker {
 public:
  DoublingPacker() : HostPacker(host_end) {}
  [[nodiscard]] std::uint64_t unpack_particles(Particle* store, std::uint64_t at, const std::byte* message,
                                               std::uint64_t count) override {
    const std::uint64_t told = HostPacker::unpack_particles(store, at, message, count);
    store[at + count - 1] = store[at];
    return told;
  }
};

/// Sends in each message after the first what that had.
class StaleParticles final : public HostPacker {
 public:
  StaleParticles() : HostPacker(host_end) {}
  [[nodiscard]] std::uint64_t pack_particles(const Particle* store, const Departure& departure,
                                             std::byte* to) override {
    const std::uint64_t count = HostPacker::pack_particles(store, departure, to);
    const Bytes bytes = particle_header_bytes + count * particle_bytes;
    if (first_.empty()) first_.assign(to, to + bytes);
    std::memcpy(to, first_.data(), std::min<std::size_t>(bytes, first_.size()));
    return count;
  }

 private:
  std::vector<std::byte> first_;
};

TEST(ParticleFaultTest, AMessageOfTheCycleBeforeIsFoundAlthoughItHasTheSameParticles) {
  Schedule schedule = exchange(Termination::blocking);
  schedule.loops[0].phases = {
      Phase{.name = "round 0", .messages = {particles(0, 1, 8)}, .termination = Termination::blocking},
      Phase{.name = "round 1", .termination = Termination::blocking}};
  Ranks ranks(schedule, [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 0) return std::make_unique<StaleParticles>();
    return plain_packer(rank);
  });
  ranks.run();
  const auto mismatch = ranks.transfer(1).verify(7);
  ASSERT_TRUE(mismatch);
  EXPECT_NE(mismatch->what.find("is not one that was made"), std::string::npos) << mismatch->what;
}

TEST(ParticleFaultTest, AParticleThatIsThereTwiceForAnotherThatIsLostIsNamed) {
  Ranks ranks(exchange(Termination::blocking), [](int rank) -> std::unique_ptr<Packer> {
    if (rank == 2) return std::make_unique<DoublingPacker>();
    return plain_packer(rank);
  });
  ranks.run();
  EXPECT_NE(ranks.wrong().find("particle "), std::string::npos) << ranks.wrong();
  EXPECT_NE(ranks.wrong().find(" is "), std::string::npos) << ranks.wrong();
}

}  // namespace
}  // namespace linkscope::workload
