// GpuPacker: packs and unpacks a rank's messages with kernels, on a stream of its own; GpuPackers makes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/streams.hpp"
#include "model/packer.hpp"

namespace linkscope::gpu {

/// Several ranks may share a GPU: each has its stream. The context's thread makes and destroys it, the rank's calls it.
class GpuPacker final : public Packer {
 public:
  /// `state` and `buffers` are memory that kernels of GPU `device` reach. `calls`: those of the buffers' memory.
  GpuPacker(std::shared_ptr<GpuContext> context, int device, const Endpoint& state, const Endpoint& buffers,
            const std::optional<RuntimeCalls>& calls);
  ~GpuPacker() override;
  GpuPacker(const GpuPacker&) = delete;
  GpuPacker& operator=(const GpuPacker&) = delete;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] gpuStream_t stream() const { return stream_.get(); }
  /// synchronise() calls `look` again and again while it waits; it throws Error{broken} where what the stream waits
  /// for will never come. Without one the runtime waits, as the run says (LINKSCOPE_SYNC).
  void look_meanwhile(std::function<void()> look) { look_ = std::move(look); }

  void copy(const std::vector<PackedRows>& rows) override;
  void synchronise() override;
  [[nodiscard]] bool idle() override { return is_idle(stream()); }
  void move(std::byte* to, const std::byte* from, Bytes bytes) override;
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
  using PinnedWords = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

  void use_device() const;
  /// As many blocks as `items` keep busy, and no more than the GPU holds.
  [[nodiscard]] unsigned busy_blocks(std::uint64_t items, unsigned threads) const;
  template <class Search>
  [[nodiscard]] std::optional<std::uint64_t> first_wrong(const Search& search);
  /// The address by which kernels reach what the host has at `at`: registered memory may have one of its own.
  template <class T>
  [[nodiscard]] T* reached(T* at);
  [[nodiscard]] GridBox reached(GridBox box) {
    box.base = reached(box.base);
    return box;
  }
  [[nodiscard]] std::uint64_t* host_words() const { return reinterpret_cast<std::uint64_t*>(pinned_.get()); }
  [[nodiscard]] std::uint64_t* own_word() const { return words_.data(); }
  void make_room_in_queue(std::uint64_t particles);

  std::shared_ptr<GpuContext> context_;
  int device_;
  OwnStream stream_;
  bool translates_;  ///< whether either memory is registered, so that reached() has to ask the driver
  PeerHold peer_;    ///< where the buffers are another GPU's
  MessageMemory messages_;
  DeviceWords words_;   ///< a word for what checks find, the queue's size, its counts by departure
  PinnedWords pinned_;  ///< the same on the host
  std::optional<DeviceWords> queue_;
  std::uint64_t room_in_queue_ = 0;
  std::vector<int> departures_;  ///< peers of those in the queue
  bool counts_under_way_ = false;
  std::unordered_map<const void*, const std::byte*> addresses_;
  std::function<void()> look_;
};

/// Makes the packers of ranks whose memory is on a GPU.
class GpuPackers {
 public:
  /// `calls`: of the catalog's memories, with which messages are allocated one by one.
  GpuPackers(std::shared_ptr<GpuContext> context, RuntimeCallTable calls)
      : context_(std::move(context)), calls_(std::move(calls)) {}

  /// Says whether there is a GPU among the two whose kernels reach both; it is the state's where that is on one.
  [[nodiscard]] Support supports(const Endpoint& state, const Endpoint& buffers) const;
  /// Throws Error{unsupported} where supports() says no.
  [[nodiscard]] std::unique_ptr<GpuPacker> gpu_packer(const Endpoint& state, const Endpoint& buffers) const;

 private:
  std::shared_ptr<GpuContext> context_;
  RuntimeCallTable calls_;
};

}  // namespace linkscope::gpu
