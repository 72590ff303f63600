// Buffer pool: keeps allocations over cases, so that half a gigabyte of pinned memory is paid for once.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/method.hpp"

namespace linkscope {

/// Whether a buffer so placed takes host memory and counts against the pool's limit.
using TakesHostMemory = std::function<bool(const Endpoint&)>;

/// Hands out buffers; no two leases share one.
///
/// A request is rounded up (to a power of two, above 64 MiB to a multiple of 2 MiB) and served by the
/// smallest free buffer of the same endpoint that holds it and is at most four times as large; a larger one
/// would tie up memory and stretch a small flow's arming over nothing. Otherwise a buffer is allocated.
/// Buffers of which their memory says that they are not reusable serve one case and are freed before the next request.
/// Before an allocation that would pass the host memory limit, unused host buffers are freed, least recently
/// used first; when the allocation still throws no_memory, everything unused is freed and it is tried once
/// more.
class BufferPool {
  struct PooledBuffer {
    const Memory* memory;
    std::unique_ptr<Buffer> buffer;
    std::uint64_t last_use = 0;
    int leases = 0;
  };

 public:
  /// Returns its buffer to the pool when it goes. The pool outlives its leases.
  class Lease {
   public:
    explicit Lease(PooledBuffer& entry) : entry_(&entry) { ++entry_->leases; }
    ~Lease() {
      if (entry_ != nullptr) --entry_->leases;
    }
    Lease(Lease&& other) noexcept : entry_(other.entry_) { other.entry_ = nullptr; }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Lease& operator=(Lease&&) = delete;
    [[nodiscard]] Buffer& buffer() const { return *entry_->buffer; }

   private:
    PooledBuffer* entry_;
  };

  /// `host_limit` bytes of host memory at most.
  BufferPool(Bytes host_limit, TakesHostMemory takes_host_memory);

  /// Of `memory`, which is the one that `where` names and outlives the pool. Throws Error{no_memory} when it cannot be
  /// had.
  [[nodiscard]] Lease acquire(const Memory& memory, const Endpoint& where, Bytes bytes);
  /// Frees every buffer that no lease holds.
  void evict_unused();

  [[nodiscard]] std::size_t buffers() const { return entries_.size(); }
  [[nodiscard]] Bytes host_bytes() const;

 private:
  void evict_used_up();
  PooledBuffer* find_free(const Endpoint& where, Bytes bytes);
  PooledBuffer& allocate(const Memory& memory, const Endpoint& where, Bytes bytes);
  void make_room(Bytes bytes);

  Bytes host_limit_;
  TakesHostMemory takes_host_memory_;
  std::list<PooledBuffer> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace linkscope
