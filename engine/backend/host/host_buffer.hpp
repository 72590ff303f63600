// HostBuffer: a buffer the CPU can load and store, however allocated.
#pragma once

#include <cstddef>
#include <functional>

#include "backend/host/workers.hpp"
#include "base/error.hpp"
#include "model/buffer.hpp"

namespace linkscope::host {

/// Fills, poisons, compares and flushes with the threads of a NUMA node. Derive and override residence(), or
/// use as it is:
/// `HostBuffer(where, bytes, address, [](std::byte* at) { give_back(at); }, context.workers(node))`.
class HostBuffer : public Buffer {
 public:
  /// Gives the address back; must not throw. Empty: the memory belongs to someone else.
  using Deleter = std::function<void(std::byte*)>;

  /// `workers` outlives the buffer.
  HostBuffer(Endpoint where, Bytes bytes, std::byte* address, Deleter deleter, WorkerPool& workers);
  ~HostBuffer() override;

  [[nodiscard]] std::byte* data() const override { return address_; }
  void fill(Bytes offset, Bytes length, std::uint64_t seed) override;
  void poison(Bytes offset, Bytes length) override;
  [[nodiscard]] std::optional<Bytes> compare(Bytes offset, Bytes length, std::uint64_t seed) const override;
  void fill_elements(Bytes offset, Bytes length, const Elements& elements, std::uint64_t seed) override;
  [[nodiscard]] std::optional<Bytes> compare_elements(Bytes offset, Bytes length, const Elements& elements,
                                                      std::uint64_t seed) const override;
  void flush(Bytes offset, Bytes length) override;

 private:
  std::byte* address_;
  Deleter deleter_;
  WorkerPool& workers_;
};

/// Tells whether this CPU lets a process flush lines, and why not.
[[nodiscard]] Support can_flush_caches();
/// Flushes every line that [address, address + length) touches from all caches; has ended when it returns.
/// Throws Error{unsupported} where can_flush_caches() says no.
void flush_caches(const std::byte* address, Bytes length);

}  // namespace linkscope::host
