// Allocation: malloc and mmap, and the blocks that are held between calls.
#include "backend/host/allocation.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "backend/host/memory_room.hpp"
#include "backend/host/page_mapping.hpp"

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

HeldBlocks::HeldBlocks(std::unique_ptr<Allocation> allocation, std::uint64_t capacity, WorkerPool& workers)
    : allocation_(std::move(allocation)), blocks_(capacity, nullptr), workers_(workers) {}

HeldBlocks::~HeldBlocks() {
  try {
    give_back_first(capacity());
  } catch (const std::exception&) {
    return;  // the process keeps what the system will not take
  }
}

int HeldBlocks::take_here(std::uint64_t from, std::uint64_t count) noexcept {
  return allocation_->take(std::span(blocks_).subspan(from, count));
}

int HeldBlocks::give_back_here(std::uint64_t from, std::uint64_t count) noexcept {
  return allocation_->give_back(std::span(blocks_).subspan(from, count));
}

void HeldBlocks::take_one(std::uint64_t index) {
  int code = 0;
  workers_.run([&] { code = take_here(index, 1); });
  if (code != 0) throw allocation_->failure(code);
}

void HeldBlocks::take_first(std::uint64_t count) {
  int code = 0;
  workers_.run([&] {
    for (std::uint64_t i = 0; i < count && code == 0; ++i) {
      if (blocks_[i] == nullptr) code = take_here(i, 1);
    }
  });
  if (code != 0) throw allocation_->failure(code);
  allocation_->settle();
}

void HeldBlocks::give_back_first(std::uint64_t count) {
  allocation_->settle();
  int code = 0;
  workers_.run([&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (blocks_[i] != nullptr) code = std::max(code, give_back_here(i, 1));
    }
  });
  forget_first(count);
  if (code != 0) throw allocation_->failure(code);
  allocation_->settle();
}

void HeldBlocks::forget_first(std::uint64_t count) { std::fill_n(blocks_.begin(), count, nullptr); }

std::optional<std::string> HeldBlocks::inspect_first(std::uint64_t count) const {
  const auto taken = std::span(blocks_).first(count);
  if (std::find(taken.begin(), taken.end(), nullptr) != taken.end()) return "a call gave nothing";
  return allocation_->inspect(taken);
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

}  // namespace linkscope::host
