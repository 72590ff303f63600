// synchronize and event-record: what waiting for a device and marking a stream cost.
#pragma once

#include "backend/gpu/call/call_method.hpp"

namespace linkscope::gpu {

/// Waiting for what has ended already, or for a kernel launched just before: a device, a stream or an event.
class Synchronize final : public CallMethod {
 public:
  using CallMethod::CallMethod;

  [[nodiscard]] std::string_view name() const override { return "synchronize"; }
  [[nodiscard]] std::string_view summary() const override {
    return "time to find a device, stream or event idle, or to wait for a kernel";
  }
  [[nodiscard]] Support supports(const Flow& flow) const override;

 private:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

/// Recording one event, with timing, into a stream that is not full.
class EventRecord final : public CallMethod {
 public:
  using CallMethod::CallMethod;

  [[nodiscard]] std::string_view name() const override { return "event-record"; }
  [[nodiscard]] std::string_view summary() const override { return "time of an event record's call"; }

 private:
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
