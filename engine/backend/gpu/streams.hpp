// OwnStream and StreamEvent: a stream for one user, and a point in a stream that other streams wait for.
#pragma once

#include <string>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

class GpuContext;

/// A stream of `device` that no other work is given to. Its work has ended when it is destroyed.
class OwnStream {
 public:
  OwnStream(GpuContext& context, int device);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  [[nodiscard]] gpuStream_t get() const { return stream_; }

 private:
  int device_;
  gpuStream_t stream_ = nullptr;
};

/// Who may wait for an event: streams of this process, or of others on the node as well.
enum class EventReach { process, node };

/// One thread records it and one waits. A wait is for the last record that there was when the wait was enqueued, so who
/// waits must know that it has been recorded.
class StreamEvent {
 public:
  /// On `device`. Throws Error{broken}.
  StreamEvent(GpuContext& context, int device, EventReach reach);
  /// Another process's, by its handle(), for streams of `device`. Throws Error{unsupported} with the driver's words.
  StreamEvent(GpuContext& context, int device, const std::string& handle);
  ~StreamEvent();
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;

  /// The handle by which another process opens it; empty where the driver gives none.
  [[nodiscard]] std::string handle() const;
  void record(gpuStream_t stream) const;
  void hold_back(gpuStream_t stream) const;

 private:
  int device_;
  gpuEvent_t event_ = nullptr;
};

}  // namespace linkscope::gpu
