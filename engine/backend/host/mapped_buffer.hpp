// MappedBuffer: a host buffer on pages of its own, placed as its endpoint says.
#pragma once

#include <memory>
#include <string>

#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/page_mapping.hpp"

namespace linkscope::host {

class MappedBuffer final : public HostBuffer {
 public:
  /// Maps, binds (Placement::bound) or leaves the pages to who touches first, and touches them all.
  /// Throws Error{no_memory}, and Error{unsupported} where huge pages were asked for and none came.
  static std::unique_ptr<MappedBuffer> make(std::shared_ptr<HostContext> context, const Endpoint& where,
                                            Bytes bytes, Pages pages);

  /// Returns the file by which another process maps it; null unless its pages are Pages::shared.
  [[nodiscard]] const MemoryFile* file() const { return mapping_.file(); }
  /// Node and page size, as far as they are not what the endpoint's words promise.
  [[nodiscard]] std::string residence() const override;

 private:
  MappedBuffer(std::shared_ptr<HostContext> context, const Endpoint& where, Bytes bytes, PageMapping mapping,
               std::string remark, double huge_share);
  [[nodiscard]] double huge_share() const;

  std::shared_ptr<HostContext> context_;
  PageMapping mapping_;
  std::string remark_;            // of the allocation
  mutable double huge_share_;     // changes as khugepaged goes on
  mutable Seconds looked_up_at_;  // asking again costs more than a small case takes
};

/// Returns the node that the pages ought to be on.
[[nodiscard]] inline int expected_node(const Endpoint& where) {
  return where.placement == Placement::bound ? where.device.index : where.first_touch.index;
}
/// Tells whether pages can be placed as `where` says. Pageable, shared and huge memory ask it.
[[nodiscard]] Support can_place(const HostContext& context, const Endpoint& where);

}  // namespace linkscope::host
