// Finds, allocates and frees the pool's buffers.
#include "run/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

constexpr Bytes largest_power_of_two = 64 * MiB;
constexpr Bytes granularity = 2 * MiB;
constexpr Bytes most_oversize = 4;

Bytes rounded_up(Bytes bytes) {
  if (bytes <= largest_power_of_two) return std::max<Bytes>(std::bit_ceil(bytes), 4 * KiB);
  return round_up(bytes, granularity);
}

bool takes_host_memory(const Endpoint& where) { return where.device.kind == DeviceKind::numa; }

}  // namespace

BufferPool::Lease BufferPool::acquire(const Memory& memory, const Endpoint& where, Bytes bytes) {
  const Bytes size = rounded_up(bytes);
  entries_.remove_if([](const PooledBuffer& entry) {
    return entry.is_unused_here() && !entry.memory->reusable(entry.buffer->where());
  });
  PooledBuffer* entry = find_free(where, {}, size);
  if (entry == nullptr) entry = &allocate(memory, where, size);
  entry->last_use = ++uses_;
  return entry->buffer;
}

BufferPool::Lease BufferPool::acquire_together(const Memory& memory, const std::vector<Endpoint>& everywhere,
                                               Bytes bytes, ProcessGroup& group) {
  const Bytes size = rounded_up(bytes);
  const Endpoint& own = everywhere.at(static_cast<std::size_t>(group.rank()));
  PooledBuffer* entry = find_free(own, everywhere, size);
  if (entry == nullptr) {
    group.collective_try([&] {
      if (takes_host_memory(own)) make_room(size);
    });
    std::unique_ptr<Buffer> buffer;
    group.collective_try([&] { buffer = memory.allocate(own, size); });
    entry = &entries_.emplace_back(PooledBuffer{&memory, std::move(buffer), everywhere});
  }
  entry->last_use = ++uses_;
  return entry->buffer;
}

void BufferPool::evict_unused() {
  entries_.remove_if([](const PooledBuffer& entry) { return entry.is_unused_here(); });
}

/// One by one, so that all processes free them in the order in which they were allocated.
bool BufferPool::evict_together() {
  const std::size_t before = entries_.size();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool goes = !entry->is_leased() && !entry->everywhere.empty();
    entry = goes ? entries_.erase(entry) : std::next(entry);
  }
  return entries_.size() < before;
}

Bytes BufferPool::host_bytes() const {
  Bytes sum = 0;
  for (const PooledBuffer& entry : entries_) {
    if (takes_host_memory(entry.buffer->where())) sum += entry.buffer->bytes();
  }
  return sum;
}

BufferPool::PooledBuffer* BufferPool::find_free(const Endpoint& where,
                                                const std::vector<Endpoint>& everywhere, Bytes bytes) {
  PooledBuffer* best = nullptr;
  for (PooledBuffer& entry : entries_) {
    const Bytes has = entry.buffer->bytes();
    if (entry.is_leased() || entry.buffer->where() != where || entry.everywhere != everywhere) continue;
    // Members of a communicator register buffers of one size.
    const Bytes most = where.traits.by_library ? bytes : most_oversize * bytes;
    if (has < bytes || has > most) continue;
    if (best == nullptr || has < best->buffer->bytes()) best = &entry;
  }
  return best;
}

/// Frees unused host buffers, least recently used first, until `bytes` more fit the limit.
void BufferPool::make_room(Bytes bytes) {
  while (host_bytes() + bytes > host_limit_) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (!entry->is_unused_here() || !takes_host_memory(entry->buffer->where())) continue;
      if (oldest == entries_.end() || entry->last_use < oldest->last_use) oldest = entry;
    }
    if (oldest == entries_.end()) {
      throw Error(Fault::no_memory, format_bytes(bytes) + " more of host memory would pass the limit of " +
                                        format_bytes(host_limit_));
    }
    entries_.erase(oldest);
  }
}

BufferPool::PooledBuffer& BufferPool::allocate(const Memory& memory, const Endpoint& where, Bytes bytes) {
  if (takes_host_memory(where)) make_room(bytes);
  std::unique_ptr<Buffer> buffer;
  try {
    buffer = memory.allocate(where, bytes);
  } catch (const Error& error) {
    if (error.fault() != Fault::no_memory) throw;
    evict_unused();
    buffer = memory.allocate(where, bytes);
  }
  return entries_.emplace_back(PooledBuffer{&memory, std::move(buffer), {}});
}

}  // namespace linkscope
