// fault-chase: the time of one page fault.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// One thread of the executor, a GPU or a CPU, follows pointers through memory whose pages are at home elsewhere: every
/// hop faults, and its answer is needed before the next. A transfer walks all of flow.bytes once, a hop for each
/// stride; time is given per hop. Before every start the pages are sent home. Memories as for page-fault.
class FaultChase final : public GpuMethod {
 public:
  explicit FaultChase(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"fault-chase",
                   "latency of page faults, one after the other",
                   Quantity::latency,
                   {.migrates = true, .dependent = true, .host_gbps = 5, .gpu_gbps = 5}}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
