// HostBuffer: a buffer the CPU can load and store, however allocated. MappedBuffer: one on pages of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "backend/host/context.hpp"
#include "backend/host/page_mapping.hpp"
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

/// Pages of its own, placed as its endpoint says.
class MappedBuffer final : public HostBuffer {
 public:
  /// Maps, binds (Placement::bound) or leaves the pages to who touches first, and touches them all.
  /// Throws Error{no_memory}, and Error{unsupported} where huge pages were asked for and none came.
  MappedBuffer(std::shared_ptr<HostContext> context, const Endpoint& where, Bytes bytes, Pages pages)
      : MappedBuffer(std::move(context), where, bytes, PageMapping(bytes, pages)) {}

  /// Returns the file by which another process maps it; null unless its pages are Pages::shared.
  [[nodiscard]] const MemoryFile* file() const { return mapping_.file(); }
  /// Node and page size, as far as they are not what the endpoint's words promise.
  [[nodiscard]] std::string residence() const override;

 private:
  MappedBuffer(std::shared_ptr<HostContext> context, const Endpoint& where, Bytes bytes, PageMapping mapping);
  [[nodiscard]] double huge_share() const;

  std::shared_ptr<HostContext> context_;
  PageMapping mapping_;
  std::string remark_;                // of the allocation
  mutable double huge_share_ = 0;     // changes as khugepaged goes on
  mutable Seconds looked_up_at_ = 0;  // asking again costs more than a small case takes
};

/// Returns the node that the pages ought to be on.
[[nodiscard]] inline int expected_node(const Endpoint& where) {
  return where.placement == Placement::bound ? where.device.index : where.first_touch.index;
}
/// Tells whether pages can be placed as `where` says. Pageable, shared and huge memory ask it.
[[nodiscard]] Support can_place(const HostContext& context, const Endpoint& where);

/// Tells whether this CPU lets a process flush lines, and why not.
[[nodiscard]] Support can_flush_caches();
/// Flushes every line that [address, address + length) touches from all caches; has ended when it returns.
/// Throws Error{unsupported} where can_flush_caches() says no.
void flush_caches(const std::byte* address, Bytes length);

}  // namespace linkscope::host
