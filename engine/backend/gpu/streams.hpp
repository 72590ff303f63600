// OwnStream and StreamEvent: a stream for one user, and a point in a stream that other streams wait for. MultiGpuWork:
// work that several GPUs' streams carry together, by calls that belong together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"

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

/// Says whether all that was enqueued has ended. Throws what it failed with.
[[nodiscard]] bool is_idle(gpuStream_t stream);

/// Which threads of a process make the calls: one for all its GPUs, in turn or in a group, or one for each. What a call
/// costs its caller differs, and so does every figure of small messages.
enum class LaunchThreads { one_thread, thread_per_gpu };

/// A GPU's stream, for its share of the work.
struct DeviceStream {
  int device = 0;
  gpuStream_t stream = nullptr;
};

/// Transfers that share it (GpuTransfer::shared_work) are one piece of work: what a GPU does for all of them goes down
/// one stream, behind one gate, and takes one span. All of them repeat equally often.
class MultiGpuWork {
 public:
  virtual ~MultiGpuWork() = default;
  [[nodiscard]] virtual LaunchThreads launch() const = 0;
  /// Enqueues `repeats` transfers back to back, and nothing else. one_thread: for all GPUs that a start has of it, by
  /// one call. thread_per_gpu: called for each GPU by a thread of its own at the same time as for the others, and may
  /// wait on the host for their calls. In several processes either may wait for the others' calls.
  virtual void enqueue(const std::vector<DeviceStream>& streams, std::uint64_t repeats) = 0;
  /// Called again and again while the work's end is awaited. Throws Error{broken} where it will never come.
  virtual void watch() const = 0;
  /// Called, possibly by several threads, when part of the work has failed: lets calls and kernels return that wait for
  /// it.
  virtual void give_up() noexcept = 0;
};

/// Waits until the streams are idle, and watches the work meanwhile, which for a fault elsewhere may never end. Says when
/// each stream was seen idle. Throws what watch() throws.
std::vector<Seconds> wait_for(const MultiGpuWork& shared_work, const std::vector<DeviceStream>& streams);
/// Waits until the streams are idle, whatever became of their work: after MultiGpuWork::give_up().
void drain(const std::vector<DeviceStream>& streams) noexcept;

}  // namespace linkscope::gpu
