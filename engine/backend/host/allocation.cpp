// Blocks by malloc and mmap; allocate, free and first-touch: what their calls time.
#include "backend/host/allocation.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "backend/host/backend.hpp"
#include "backend/host/memory_room.hpp"
#include "backend/host/page_mapping.hpp"
#include "backend/host/slot_transfer.hpp"

namespace linkscope::host {

namespace {

constexpr Bytes quick_to_provide = 1 * GiB;
constexpr Bytes share_of_room = 4;

/// The kind of pages that `many` blocks get on `node`, as memory `huge` itself does it (huge.hpp).
Pages pages_of(const MemoryTraits& memory, const BlockCount& many, int node) {
  if (!memory.huge_pages) return Pages::system_policy;
  const Bytes needed = many.count * whole_pages(many.bytes, Pages::huge_tlb);
  return free_huge_bytes(node) >= needed ? Pages::huge_tlb : Pages::transparent_huge;
}

class HostAllocation : public Allocation {
 public:
  explicit HostAllocation(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] Error failure(int code) const override {
    return {code == ENOMEM ? Fault::no_memory : Fault::broken,
            format_bytes(bytes_) + " of host memory: " + std::strerror(code)};
  }

 protected:
  [[nodiscard]] Bytes size() const override { return bytes_; }

 private:
  Bytes bytes_;
};

class Malloc : public HostAllocation {
 public:
  using HostAllocation::HostAllocation;

  [[nodiscard]] int take(std::span<Block> blocks) noexcept override {
    for (Block& block : blocks) {
      block = static_cast<Block>(std::malloc(size()));
      if (block == nullptr) return ENOMEM;
    }
    return 0;
  }
  [[nodiscard]] int give_back(std::span<const Block> blocks) noexcept final {
    for (const Block block : blocks) std::free(block);
    return 0;
  }
};

class AdvisedHuge final : public Malloc {
 public:
  explicit AdvisedHuge(Bytes bytes) : Malloc(whole_pages(bytes, Pages::transparent_huge)) {}

  [[nodiscard]] int take(std::span<Block> blocks) noexcept override {
    for (Block& block : blocks) {
      block = static_cast<Block>(std::aligned_alloc(page_, size()));
      if (block == nullptr) return ENOMEM;
      if (madvise(block, size(), MADV_HUGEPAGE) != 0) return errno;
    }
    return 0;
  }

 private:
  Bytes page_ = huge_page_bytes();
};

class FreshPages final : public HostAllocation {
 public:
  FreshPages(Bytes bytes, Pages pages, std::optional<int> bound)
      : HostAllocation(whole_pages(bytes, pages)), pages_(pages), bound_(bound) {}

  [[nodiscard]] int take(std::span<Block> blocks) noexcept override {
    for (Block& block : blocks) {
      try {
        block = map_pages(size(), pages_);
        // Where binding is refused, as in containers, the toucher decides: that is its own node mostly.
        if (bound_) static_cast<void>(bind_pages(block, size(), *bound_));
      } catch (const std::exception&) {
        return ENOMEM;
      }
    }
    return 0;
  }
  [[nodiscard]] int give_back(std::span<const Block> blocks) noexcept override {
    int code = 0;
    for (const Block block : blocks) code = munmap(block, size()) == 0 ? code : errno;
    return code;
  }

 private:
  Pages pages_;
  std::optional<int> bound_;
};

constexpr int too_many_calls = std::numeric_limits<int>::min();  // no system's or vendor's code

constexpr std::uint64_t most_held = 4096;  // a malloc takes some 20 ns: enough for a sample

constexpr std::uint64_t most_fresh = 1024;  // each costs system calls before every start
constexpr Bytes smallest_page = 4096;

std::optional<Bytes> find_other(const std::byte* block, Bytes bytes, int value) {
  const auto wanted = static_cast<std::byte>(value);
  if (block[0] == wanted && std::memcmp(block, block + 1, bytes - 1) == 0) return std::nullopt;
  return static_cast<Bytes>(std::find_if(block, block + bytes, [=](std::byte at) { return at != wanted; }) -
                            block);
}

class AllocationCalls final : public HostTransfer {
 public:
  AllocationCalls(HostContext& context, int node, std::unique_ptr<Allocation> allocation,
                  std::uint64_t capacity, Measured measured, Keeper keeper)
      : HostTransfer(node, 1),
        blocks_(std::move(allocation), capacity + (keeper == Keeper::one ? 1 : 0), context.workers(node)),
        capacity_(capacity),
        measured_(measured) {
    if (keeper == Keeper::one) blocks_.take_one(capacity);
    own_facts().max_repeats = capacity;
    own_facts().setting = {{"held", static_cast<std::int64_t>(capacity)}};
  }
  ~AllocationCalls() override {
    if (measured_ == Measured::give_back) blocks_.forget_first(used_);
  }

  void arm(std::uint64_t seed) override {
    Transfer::arm(seed);
    code_ = 0;
    wrong_.reset();
  }
  void restore() override {
    if (measured_ == Measured::take && code_ == 0 && !wrong_) wrong_ = blocks_.inspect_first(used_);
    const std::uint64_t used = std::exchange(used_, 0);
    if (measured_ == Measured::take) {
      blocks_.give_back_first(used);
    } else {
      blocks_.allocation().settle();
      blocks_.forget_first(used);
      blocks_.take_first(capacity_);
    }
  }
  void perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept override {
    const std::uint64_t count = std::min(repeats, capacity_ - used_);
    if (count < repeats) code_ = code_ == 0 ? too_many_calls : code_;
    const int code =
        measured_ == Measured::take ? blocks_.take_here(used_, count) : blocks_.give_back_here(used_, count);
    used_ += count;
    if (code_ == 0) code_ = code;
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    if (code_ == too_many_calls) return Mismatch{"more calls were asked for than blocks may be held"};
    if (code_ != 0) return Mismatch{blocks_.allocation().failure(code_).what()};
    if (wrong_) return Mismatch{*wrong_};
    if (measured_ == Measured::give_back) return std::nullopt;
    const auto wrong = blocks_.inspect_first(used_);
    return wrong ? std::optional(Mismatch{*wrong}) : std::nullopt;
  }
  /// The addresses, which is all there is to check.
  [[nodiscard]] Bytes verified_bytes() const override { return used_ * sizeof(Block); }

 private:
  HeldBlocks blocks_;  ///< the kept one last
  std::uint64_t capacity_;
  Measured measured_;
  std::uint64_t used_ = 0;            ///< since restore()
  int code_ = 0;                      ///< of the first call that failed since arm()
  std::optional<std::string> wrong_;  ///< what was found wrong before blocks were given back
};

class FirstTouchTransfer final : public HostTransfer {
 public:
  FirstTouchTransfer(int node, std::int64_t threads, std::unique_ptr<FreshBlocks> blocks)
      : HostTransfer(node, sharers(blocks->many().bytes, threads, smallest_page)),
        blocks_(std::move(blocks)) {
    own_facts().max_repeats = blocks_->many().count;
    own_facts().setting = {{"threads", this->threads()}};
  }

  void arm(std::uint64_t seed) override {
    blocks_->renew(touched());
    blocks_->arm(seed);
    Transfer::arm(seed);
    renewed_at_ = 0;
  }
  void restore() override {
    blocks_->renew(touched());
    renewed_at_ = transfers();
  }
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    const auto [offset, size] = share_of(blocks_->many().bytes, part, threads(), smallest_page);
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const Block block = blocks_->at(first - renewed_at_ + i);
      if (block != nullptr) std::memset(block + offset, blocks_->value(), size);
    }
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    return blocks_->find_wrong(touched());
  }
  [[nodiscard]] Bytes verified_bytes() const override { return blocks_->verified_bytes(touched()); }

 private:
  [[nodiscard]] std::uint64_t touched() const { return transfers() - renewed_at_; }

  std::unique_ptr<FreshBlocks> blocks_;
  std::uint64_t renewed_at_ = 0;  ///< transfers() when blocks were last renewed
};

Method calls_by(const MethodSpec& spec, const std::shared_ptr<HostContext>& context, Measured measured) {
  Method row{spec, {}};
  row.supports = [context](const Flow& flow) {
    const Support named = names_host_memory(flow);
    return named ? context->can_execute(flow.executor) : named;
  };
  row.footprint = [](const Flow&) { return Bytes{0}; };
  row.prepare = [=](const Flow& flow, const Arenas&) {
    return make_host_calls(*context, flow.executor.index, flow, measured);
  };
  return row;
}

}  // namespace

std::optional<std::string> Allocation::inspect(std::span<const Block> blocks) const {
  std::vector<std::uintptr_t> sorted;
  for (const Block block : blocks) sorted.push_back(reinterpret_cast<std::uintptr_t>(block));
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Bytes apart = sorted[i] - sorted[i - 1];
    if (apart < size())
      return "two blocks of " + format_bytes(size()) + " lie " + std::to_string(apart) + " B apart";
  }
  return std::nullopt;
}

BlockCount blocks_to_hold(Bytes bytes, std::optional<Bytes> room, std::uint64_t most,
                          const std::string& what) {
  if (room && bytes > *room) {
    throw Error(Fault::no_memory,
                format_bytes(bytes) + " do not fit: " + what + " has " + format_bytes(*room));
  }
  const Bytes together = std::min(quick_to_provide, room.value_or(quick_to_provide) / share_of_room);
  return {bytes, std::clamp<std::uint64_t>(together / bytes, 1, most)};
}

BlockCount host_blocks_to_hold(const MemoryTraits& memory, Bytes bytes, std::optional<int> node,
                               std::uint64_t most) {
  const Bytes filled = whole_pages(bytes, memory.huge_pages ? Pages::transparent_huge : Pages::system_policy);
  const BlockCount many = blocks_to_hold(filled, MemoryRoom::present(), most, "the machine");
  if (filled > quick_to_provide / most) MemoryRoom::wait_for(many.count * filled, node);
  return {bytes, many.count};
}

std::unique_ptr<Allocation> allocate_on_host(const MemoryTraits& memory, const BlockCount& many, int node) {
  const Pages pages = pages_of(memory, many, node);
  if (pages == Pages::huge_tlb) return std::make_unique<FreshPages>(many.bytes, pages, std::nullopt);
  if (pages == Pages::transparent_huge) return std::make_unique<AdvisedHuge>(many.bytes);
  return std::make_unique<Malloc>(many.bytes);
}

std::unique_ptr<Allocation> map_on_host(const MemoryTraits& memory, const BlockCount& many, int node,
                                        std::optional<int> bound) {
  return std::make_unique<FreshPages>(many.bytes, pages_of(memory, many, node), bound);
}

std::unique_ptr<Transfer> allocation_calls(HostContext& context, int node,
                                           std::unique_ptr<Allocation> allocation, std::uint64_t capacity,
                                           Measured measured, Keeper keeper) {
  return std::make_unique<AllocationCalls>(context, node, std::move(allocation), capacity, measured, keeper);
}

std::unique_ptr<Transfer> first_touches(int node, std::int64_t threads, std::unique_ptr<FreshBlocks> blocks) {
  return std::make_unique<FirstTouchTransfer>(node, threads, std::move(blocks));
}

Support names_host_memory(const Flow& flow) {
  if (flow.source || !flow.destination) {
    return Support::no(flow.method + " has no source, and a destination that names the memory");
  }
  const Endpoint& where = *flow.destination;
  if (!where.traits.is_private()) {
    return Support::no(flow.method + " by a CPU knows pageable and huge memory, not " + where.memory);
  }
  if (where.traits.huge_pages && huge_page_bytes() == 0) return Support::no("this kernel has no huge pages");
  if (where.device.kind == DeviceKind::numa) return Support::yes();
  return Support::no(where.memory + " memory is on NUMA nodes, not on " + where.device.text());
}

std::unique_ptr<Transfer> make_host_calls(HostContext& context, int node, const Flow& flow,
                                          Measured measured) {
  const bool several = context.topology().nodes().size() > 1;
  const BlockCount many = host_blocks_to_hold(flow.destination->traits, flow.bytes,
                                              several ? std::optional<int>(node) : std::nullopt, most_held);
  return allocation_calls(context, node, allocate_on_host(flow.destination->traits, many, node), many.count,
                          measured);
}

Method host_allocate(const std::shared_ptr<HostContext>& context) {
  return calls_by({"allocate", "time of one allocation, untouched", Quantity::latency, allocation_traits},
                  context, Measured::take);
}

Method host_free(const std::shared_ptr<HostContext>& context) {
  return calls_by({"free", "time to give one untouched block back", Quantity::latency, allocation_traits},
                  context, Measured::give_back);
}

FreshBlocks::FreshBlocks(HostContext& context, int node, std::unique_ptr<Allocation> allocation,
                         const BlockCount& many)
    : blocks_(std::move(allocation), many.count, context.workers(node)),
      many_(many),
      workers_(context.workers(node)) {}

void FreshBlocks::renew(std::uint64_t touched) {
  blocks_.give_back_first(std::min(touched, many_.count));
  blocks_.take_first(many_.count);
}

std::optional<Mismatch> FreshBlocks::find_wrong(std::uint64_t touched) const {
  if (touched > many_.count) return Mismatch{"more blocks were to be touched than a start may hold"};
  for (std::uint64_t i = 0; i < touched; ++i) {
    std::optional<Bytes> bad;
    workers_.run([&] { bad = find_other(blocks_.at(i), many_.bytes, value_); });
    if (!bad) continue;
    return Mismatch{"byte " + std::to_string(*bad) + " of " + std::to_string(many_.bytes) +
                    " in fresh block " + std::to_string(i) + " does not hold what was written"};
  }
  return std::nullopt;
}

Method host_first_touch(const std::shared_ptr<HostContext>& context) {
  Method row{{"first-touch", "time to write a fresh allocation for the first time", Quantity::latency,
              first_touch_traits},
             {thread_count}};
  row.supports = [context](const Flow& flow) {
    const Support named = names_host_memory(flow);
    return named ? threads_available(*context, flow) : named;
  };
  row.footprint = [](const Flow&) { return Bytes{0}; };
  row.prepare = [context](const Flow& flow, const Arenas&) {
    const int node = flow.executor.index;
    return first_touches(node, flow.parameters.number(thread_count), fresh_host_blocks(*context, node, flow));
  };
  return row;
}

std::unique_ptr<FreshBlocks> fresh_host_blocks(HostContext& context, int node, const Flow& flow) {
  const Endpoint& where = *flow.destination;
  std::optional<int> bound;
  const bool several = context.topology().nodes().size() > 1;
  if (several && where.placement == Placement::bound) bound = where.device.index;
  const std::optional<int> room_on = several ? std::optional<int>(bound.value_or(node)) : std::nullopt;
  const BlockCount many = host_blocks_to_hold(where.traits, flow.bytes, room_on, most_fresh);
  return std::make_unique<FreshBlocks>(context, node,
                                       map_on_host(where.traits, many, room_on.value_or(node), bound), many);
}

}  // namespace linkscope::host
