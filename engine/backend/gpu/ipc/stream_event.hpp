// StreamEvent: a point in one GPU's stream that other streams wait for, of this process or of others on the node.
#pragma once

#include <memory>
#include <string>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

class GpuContext;

/// Who may wait for an event.
enum class EventReach { process, node };

/// Recording and waiting are for one thread each; who waits must know that it has been recorded: a wait is for the last
/// record that there was when it was enqueued.
class StreamEvent {
 public:
  /// On `device`. Throws Error{broken}.
  StreamEvent(GpuContext& context, int device, EventReach reach);
  /// Another process's, by its handle(), for streams of `device`. Throws Error{unsupported} with the driver's words.
  StreamEvent(GpuContext& context, int device, const std::string& handle);
  ~StreamEvent();
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;

  /// What another process opens it by; empty where the driver gives none.
  [[nodiscard]] std::string handle() const;
  void record(gpuStream_t stream) const;
  void hold_back(gpuStream_t stream) const;

 private:
  int device_;
  gpuEvent_t event_ = nullptr;
};

}  // namespace linkscope::gpu
