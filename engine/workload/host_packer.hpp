// HostPacker: packs, fills and checks by a CPU thread.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "backend/host/allocation.hpp"
#include "model/packer.hpp"

namespace linkscope::workload {

class HostPacker : public Packer {
 public:
  /// `buffers`: the memory that messages of particles are allocated in.
  explicit HostPacker(Endpoint buffers);
  ~HostPacker() override;
  HostPacker(const HostPacker&) = delete;
  HostPacker& operator=(const HostPacker&) = delete;

  void copy(const std::vector<PackedRows>& rows) override;
  void synchronise() override {}
  [[nodiscard]] bool idle() override { return true; }
  void move(std::byte* to, const std::byte* from, Bytes bytes) override { std::memcpy(to, from, bytes); }
  void fill(const GridBox& box, std::uint64_t seed) override;
  void poison(const GridBox& box) override;
  [[nodiscard]] std::optional<WrongWord> compare(const GridBox& box, std::uint64_t seed) override;
  [[nodiscard]] std::uint64_t read_word(const std::byte* at) override;

  [[nodiscard]] std::byte* allocate(Bytes bytes) override;
  void release(std::byte* at) override;

  void make_particles(Particle* store, std::uint64_t first, std::uint64_t count, std::uint64_t seed) override;
  void fill_queue(std::uint64_t from, const std::vector<Departure>& departures) override;
  [[nodiscard]] std::uint64_t pack_particles(const Particle* store, const Departure& departure,
                                             std::byte* to) override;
  [[nodiscard]] std::uint64_t unpack_particles(Particle* store, std::uint64_t at, const std::byte* message,
                                               std::uint64_t count) override;
  [[nodiscard]] std::optional<std::uint64_t> count_particles(const Particle* store, std::uint64_t from,
                                                             std::uint64_t to, std::uint64_t seed,
                                                             std::vector<std::int32_t>& seen) override;

 private:
  /// A particle that is to leave.
  struct Leaving {
    int peer = 0;
    std::uint64_t index = 0;
  };

  Endpoint buffers_;
  std::map<std::byte*, std::unique_ptr<host::Allocation>> blocks_;  ///< of other memory than malloc's
  std::vector<Leaving> queue_;
};

}  // namespace linkscope::workload
