// memcpy: see the header.
#include "backend/host/memcpy.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/host/host_transfer.hpp"
#include "backend/host/non_temporal.hpp"
#include "model/copy_check.hpp"

namespace linkscope::host {

namespace {

constexpr Bytes line = 64;

struct Choice {
  std::int64_t threads;
  std::int64_t non_temporal;
};

Choice chosen(const Flow& flow) {
  return {flow.parameters.number("threads", 1), flow.parameters.number("non_temporal", 0)};
}

/// What a compiler must assume to have read and changed all memory: keeps repeats of one copy apart.
inline void touch_all_memory() { asm volatile("" ::: "memory"); }

class MemcpyTransfer final : public HostTransfer {
 public:
  MemcpyTransfer(const Flow& flow, const Arenas& arenas, CopyFunction copy)
      : HostTransfer(flow.executor.index, static_cast<unsigned>(chosen(flow).threads)),
        check_(arenas.source, arenas.destination, flow.bytes, arenas.rotation),
        source_(*arenas.source),
        destination_(*arenas.destination),
        bytes_(flow.bytes),
        rotation_(arenas.rotation),
        copy_(copy) {}

  void arm(std::uint64_t seed) override {
    restart();
    check_.arm(seed);
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return check_.verify(seed, done());
  }
  [[nodiscard]] Bytes verified_bytes() const override { return check_.verified_bytes(done()); }
  void flush() override { check_.flush(); }
  [[nodiscard]] Setting setting() const override { return {{"threads", threads()}}; }
  [[nodiscard]] std::vector<std::string> notes() const override;

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    if (copy_ != nullptr) {
      repeat(part, first, repeats, copy_);
    } else {
      repeat(part, first, repeats,
             [](std::byte* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); });
    }
  }

 private:
  template <class Copy>
  void repeat(unsigned part, std::uint64_t first, std::uint64_t repeats, Copy copy) const noexcept {
    const Bytes share = (bytes_ / threads() + line - 1) / line * line;
    const Bytes offset = std::min(bytes_, share * part);
    const Bytes size = part + 1 == threads() ? bytes_ - offset : std::min(share, bytes_ - offset);
    std::byte* const to = destination_.data() + offset;
    const std::byte* const from = source_.data() + offset;
    if (rotation_.slots == 1) {  // apart, so that copies of a few ns carry no cost of rotating
      for (std::uint64_t i = 0; i < repeats; ++i) {
        copy(to, from, size);
        touch_all_memory();
      }
      return;
    }
    const Bytes end = rotation_.slots * rotation_.stride;
    Bytes slot = first % rotation_.slots * rotation_.stride;
    for (std::uint64_t i = 0; i < repeats; ++i) {
      copy(to + slot, from + slot, size);
      touch_all_memory();
      slot += rotation_.stride;
      if (slot >= end) slot = 0;
    }
  }

  CopyCheck check_;
  Buffer& source_;
  Buffer& destination_;
  Bytes bytes_;
  Rotation rotation_;
  CopyFunction copy_;  // null: memcpy itself, so that the call is the application's own
};

std::vector<std::string> MemcpyTransfer::notes() const {
  std::vector<std::string> notes;
  if (const std::string found = source_.residence(); !found.empty()) notes.push_back("source: " + found);
  if (const std::string found = destination_.residence(); !found.empty())
    notes.push_back("destination: " + found);
  return notes;
}

}  // namespace

std::map<std::string, std::string> Memcpy::parameters() const {
  return {{"threads", "CPU threads that share one copy, each on its own CPU of the executor; default 1"},
          {"non_temporal",
           "1: streaming stores past the caches at every size; 0 (default): the C library decides by size"}};
}

Support Memcpy::supports(const Flow& flow) const {
  if (!flow.source || !flow.destination) return Support::no("memcpy needs a source and a destination");
  for (const Endpoint* end : {&*flow.source, &*flow.destination}) {
    if (end->device.kind != DeviceKind::numa)
      return Support::no("memcpy reaches host memory only, not " + end->device.text());
  }
  if (const Support executor = context_->can_execute(flow.executor); !executor) return executor;
  const auto [threads, non_temporal] = chosen(flow);
  const auto cpus = static_cast<std::int64_t>(context_->topology().find(flow.executor.index)->cpus.size());
  if (threads < 1) return Support::no("memcpy needs at least one thread");
  if (threads > cpus) {
    return Support::no(flow.executor.text() + " has " + std::to_string(cpus) + " CPUs, not " +
                       std::to_string(threads));
  }
  if (threads > 1 && flow.bytes < line * static_cast<Bytes>(threads)) {
    return Support::no(std::to_string(flow.bytes) + " B are less than a cache line for each of " +
                       std::to_string(threads) + " threads");
  }
  if (non_temporal != 0 && non_temporal != 1) return Support::no("non_temporal is 0 or 1");
  return non_temporal == 1 ? can_copy_non_temporal() : Support::yes();
}

std::unique_ptr<Transfer> Memcpy::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<MemcpyTransfer>(flow, arenas,
                                          chosen(flow).non_temporal == 1 ? non_temporal_copy() : nullptr);
}

Bytes Memcpy::rotation_bytes(const Flow& flow) const {
  return 2 * context_->largest_cache({flow.executor, flow.source->device, flow.destination->device});
}

}  // namespace linkscope::host
