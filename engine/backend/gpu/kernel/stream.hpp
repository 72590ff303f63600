// stream: McCalpin's four loops over arrays of doubles, each array wherever the flow puts it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// Arrays a and b (add and triad) are in the source, the result c in the destination, and the executor is any GPU that
/// reaches them. So "arrays on the peer, kernel here" is one flow (both ends on the peer) and "remote read, local
/// write" another. flow.bytes is one array; what STREAM counts, bytes read plus written, is touched_bytes(). The arrays
/// hold whole numbers, so that every result is exact and is compared exactly.
class Stream final : public GpuMethod {
 public:
  explicit Stream(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"stream", "STREAM's copy, scale, add and triad on arrays of doubles, by a kernel"}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// Where two arrays are read, the source holds b behind a.
  [[nodiscard]] Bytes footprint(const Flow& flow) const override;

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
