// synchronize and event-record: what waiting for a device and marking a stream cost.
#pragma once

#include <utility>

#include "backend/gpu/call/call_method.hpp"

namespace linkscope::gpu {

/// Waiting for what has ended already, or for a kernel launched just before: a device, a stream or an event.
class Synchronize final : public CallMethod {
 public:
  explicit Synchronize(std::shared_ptr<GpuContext> context)
      : CallMethod(std::move(context),
                   {"synchronize", "time to find a device, stream or event idle, or to wait for a kernel",
                    Quantity::latency}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

/// Recording one event, with timing, into a stream that is not full.
class EventRecord final : public CallMethod {
 public:
  explicit EventRecord(std::shared_ptr<GpuContext> context)
      : CallMethod(std::move(context),
                   {"event-record", "time of an event record's call", Quantity::latency}) {}

 private:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
