// graph-instantiate and graph-launch: what graphs of kernels and small copies cost before they run.
#pragma once

#include <utility>

#include "backend/gpu/call/call_method.hpp"

namespace linkscope::gpu {

/// A graph's nodes, one behind the other, are kernels of one thread or copies within the device's memory: of
/// flow.bytes, or of a region of 8 rows in 8 planes with flow.bytes in all.
class GraphMethod : public CallMethod {
 public:
  using CallMethod::CallMethod;
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
};

/// Each call makes an executable graph of its own; the first of a start is launched afterwards to see that it works.
class GraphInstantiate final : public GraphMethod {
 public:
  explicit GraphInstantiate(std::shared_ptr<GpuContext> context)
      : GraphMethod(std::move(context),
                    {"graph-instantiate", "time to make a graph executable", Quantity::latency}) {}

 private:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

/// The call alone, into a stream that is not full.
class GraphLaunch final : public GraphMethod {
 public:
  explicit GraphLaunch(std::shared_ptr<GpuContext> context)
      : GraphMethod(std::move(context),
                    {"graph-launch", "time of a graph launch's call", Quantity::latency}) {}

 private:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
