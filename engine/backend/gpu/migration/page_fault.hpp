// page-fault: pages that move because they are touched.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The source's pages are at home on its device; the executor, a GPU's kernel or CPU threads, touches each, and the
/// system brings them over. All of flow.bytes count, whether a page's one word is touched or all of them. Before every
/// start the pages are sent home. Managed memory, or the system's where GPUs can reach it. Source placement
/// first-touch: a bound source has its pages mapped rather than moved.
class PageFault final : public GpuMethod {
 public:
  explicit PageFault(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"page-fault", "pages that migrate because a kernel or CPU threads touch them",
                   Quantity::bandwidth, page_fault_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
  [[nodiscard]] bool graphable() const override { return false; }
};

}  // namespace linkscope::gpu
