// Buffer pool: keeps allocations over cases, so that half a gigabyte of pinned memory is paid for once.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/units.hpp"
#include "comm/process_group.hpp"
#include "model/buffer.hpp"
#include "model/method.hpp"

namespace linkscope {

/// Hands out buffers; no two leases share one.
///
/// A request is rounded up (to a power of two, above 64 MiB to a multiple of 2 MiB) and served by the
/// smallest free buffer of the same endpoint that holds it and is at most four times as large; a larger one
/// would tie up memory and stretch a small flow's arming over nothing. Otherwise a buffer is allocated.
/// Buffers of which their memory says that they are not reusable serve one case and are freed before the next request.
/// Before an allocation that would pass the host memory limit, unused host buffers are freed, least recently
/// used first; when the allocation still throws no_memory, everything unused is freed and it is tried once
/// more.
///
/// Memory with the trait collective_allocation the pools of all processes allocate and free together. They keep step
/// because they decide by what all of them know:
/// - acquire_together() is called by every process for every arena of such memory, in one order, with one size; a process
///   without a part in the flow takes its share as well. Which entry serves it follows from where each process has it,
///   from the size, and from which entries are leased, and leases of a case begin and end alike in all processes.
/// - No process enters the allocation before all have said that nothing here speaks against it (the host memory limit).
/// - evict_together() alone frees such entries, and all processes call it alike, when an allocation has failed in any. What
///   a process evicts for itself passes over them, although they may be in its way: then its failure, which becomes that
///   of all, has them freed.
class BufferPool {
  struct PooledBuffer {
    const Memory* memory;
    std::shared_ptr<Buffer> buffer;
    std::vector<Endpoint>
        everywhere;  ///< of memory that all allocate together: where each process has it, by rank
    std::uint64_t last_use = 0;
    [[nodiscard]] bool is_leased() const { return buffer.use_count() > 1; }
    [[nodiscard]] bool is_unused_here() const { return !is_leased() && everywhere.empty(); }
  };

 public:
  /// Its buffer is the pool's again when it goes.
  using Lease = std::shared_ptr<Buffer>;

  /// `host_limit` bytes of host memory at most: of buffers on NUMA nodes.
  explicit BufferPool(Bytes host_limit) : host_limit_(host_limit) {}

  /// Of `memory`, which is the one that `where` names and outlives the pool. Throws Error{no_memory} when it cannot be
  /// had.
  [[nodiscard]] Lease acquire(const Memory& memory, const Endpoint& where, Bytes bytes);
  /// Returns this process's share in an arena that every process has, each at its place of `everywhere`. A collective
  /// call, which throws alike in all.
  [[nodiscard]] Lease acquire_together(const Memory& memory, const std::vector<Endpoint>& everywhere,
                                       Bytes bytes, ProcessGroup& group);
  /// Frees every buffer that no lease holds, but for those that all processes free together.
  void evict_unused();
  /// Frees those that no lease holds: a collective call. False where there are none, alike in all processes.
  bool evict_together();

  [[nodiscard]] std::size_t buffers() const { return entries_.size(); }
  [[nodiscard]] Bytes host_bytes() const;

 private:
  PooledBuffer* find_free(const Endpoint& where, const std::vector<Endpoint>& everywhere, Bytes bytes);
  PooledBuffer& allocate(const Memory& memory, const Endpoint& where, Bytes bytes);
  void make_room(Bytes bytes);

  Bytes host_limit_;
  std::list<PooledBuffer> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace linkscope
