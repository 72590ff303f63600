#include "backend/gpu/copy/copy_engine.hpp"

#include <algorithm>

#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "model/copy_check.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes first_copy_bytes = 4 * MiB;

enum class CopyCall { async, sync };
enum class CopyApi { memcpy, peer };

CopyCall wanted_call(const Flow& flow) {
  const std::string word = flow.parameters.word("call", "async");
  if (word == "async") return CopyCall::async;
  if (word == "sync") return CopyCall::sync;
  throw Error(Fault::bad_input, "parameter call: '" + word + "' is neither async nor sync");
}

CopyApi wanted_api(const Flow& flow) {
  const std::string word = flow.parameters.word("api", "memcpy");
  if (word == "memcpy") return CopyApi::memcpy;
  if (word == "peer") return CopyApi::peer;
  throw Error(Fault::bad_input, "parameter api: '" + word + "' is neither memcpy nor peer");
}

/// Whether a synchronous call may come back before the bytes are there: as the vendors' manuals have it, within and
/// between GPUs, and out of pageable memory, which the driver stages. Of managed memory they say nothing.
bool returns_early(const Flow& flow) {
  const auto on_gpu = [](const Endpoint& end) { return end.device.kind == DeviceKind::gpu; };
  const bool managed = flow.source->traits.migrates || flow.destination->traits.migrates;
  const bool staged = flow.source->traits.system_pages;
  return managed || staged || (on_gpu(*flow.source) && on_gpu(*flow.destination));
}

class EngineTransfer final : public GpuTransfer {
 public:
  EngineTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : context_(std::move(context)),
        device_(flow.executor.index),
        from_(flow.source->device.index),
        to_(flow.destination->device.index),
        bytes_(flow.bytes),
        arenas_(arenas),
        check_(arenas.source, arenas.destination, flow.bytes, arenas.rotation),
        call_(wanted_call(flow)),
        api_(wanted_api(flow)),
        settles_(returns_early(flow)),
        enqueueing_(call_ == CopyCall::sync ? Enqueue::blocks : enqueueing_of_copy(flow)),
        path_(open_copy_path(*context_, flow)) {
    if (is_local(flow)) own_facts().touched_bytes = 2 * flow.bytes;
    if (enqueueing_ == Enqueue::returns) {
      own_facts().max_repeats = queue_share;
      lead_in_ = lead_in_of(*context_, flow, bytes_);
    }
    copy_once();
  }

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] Enqueue enqueueing() const override { return enqueueing_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    await_start_stamp(stream);
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, ++touched_) copy_slot(bytes_, stream);
  }
  void lead_in(gpuStream_t stream) override {
    stamped_ = true;
    if (enqueueing_ == Enqueue::returns)
      copy_async(lead_in_.destination, lead_in_.source, lead_in_.bytes, stream);
  }
  void count_as_run(std::uint64_t transfers) override { touched_ = transfers; }

  void arm(std::uint64_t seed) override {
    check_.arm(seed);
    settle_caches(arenas_);
    touched_ = 0;
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return check_.verify(seed, touched_);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return check_.verified_bytes(touched_); }
  void flush() override { check_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> found = residences(arenas_);
    if (enqueueing_ == Enqueue::blocks) found.emplace_back(launch_cost_inside);
    if (call_ == CopyCall::sync)
      found.emplace_back("on the default stream: synchronous calls of one GPU wait for one another");
    return found;
  }

 private:
  /// Copies `bytes` of the slot whose turn it is.
  void copy_slot(Bytes bytes, gpuStream_t stream) {
    const Bytes at = touched_ % arenas_.rotation.slots * arenas_.rotation.stride;
    std::byte* to = arenas_.destination->data() + at;
    const std::byte* from = arenas_.source->data() + at;
    if (call_ == CopyCall::async) {
      copy_async(to, from, bytes, stream);
    } else {
      copy_sync(to, from, bytes);
    }
  }
  void copy_async(std::byte* to, const std::byte* from, Bytes bytes, gpuStream_t stream) {
    if (api_ == CopyApi::peer) {
      LINKSCOPE_CHECK(gpuMemcpyPeerAsync(to, to_, from, from_, bytes, stream));
    } else {
      LINKSCOPE_CHECK(gpuMemcpyAsync(to, from, bytes, gpuMemcpyDefault, stream));
    }
  }
  /// On the default stream, as synchronous calls are; has ended on return.
  void copy_sync(std::byte* to, const std::byte* from, Bytes bytes) {
    if (api_ == CopyApi::peer) {
      LINKSCOPE_CHECK(gpuMemcpyPeer(to, to_, from, from_, bytes));
    } else {
      LINKSCOPE_CHECK(gpuMemcpy(to, from, bytes, gpuMemcpyDefault));
    }
    if (settles_) LINKSCOPE_CHECK(gpuStreamSynchronize(nullptr));
  }

  /// A synchronous copy does not wait for the lane's stream: the start stamp must be there before the first begins.
  void await_start_stamp(gpuStream_t stream) {
    if (call_ == CopyCall::sync && stamped_) LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
    stamped_ = false;
  }

  /// The driver may set up staging on the first copy of a kind: that must not happen behind a closed gate.
  void copy_once() {
    context_->use(device_);
    const gpuStream_t stream = context_->service_stream(device_);
    refusal_is_no_support(*arenas_.source, *arenas_.destination,
                          [&] { copy_slot(std::min(bytes_, first_copy_bytes), stream); });
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  }

  std::shared_ptr<GpuContext> context_;
  int device_;
  int from_;
  int to_;
  Bytes bytes_;
  Arenas arenas_;
  CopyCheck check_;
  CopyCall call_;
  CopyApi api_;
  bool settles_;  ///< whether a synchronous call must be waited for
  Enqueue enqueueing_;
  PeerHold path_;
  LeadIn lead_in_;
  bool stamped_ = false;  ///< whether a start stamp precedes what is enqueued next
  std::uint64_t touched_ = 0;
};

}  // namespace

std::map<std::string, std::string> CopyEngine::own_parameters() const {
  auto all = copy_path_parameters();
  all.emplace(
      "call",
      "async (default), or sync: cudaMemcpy or hipMemcpy on the default stream, waited for until the bytes "
      "are there");
  all.emplace("api",
              "memcpy (default), or peer: cudaMemcpyPeerAsync or hipMemcpyPeerAsync, between two GPUs");
  return all;
}

Support CopyEngine::supports(const Flow& flow) const {
  if (const Support complete = has_ends(flow, Ends::both); !complete) return complete;
  static_cast<void>(wanted_call(flow));
  if (wanted_api(flow) == CopyApi::peer) {
    if (!between_gpus(flow)) return Support::no("api peer copies between two GPUs");
    if (flow.source->traits.migrates || flow.destination->traits.migrates) {
      return Support::no("api peer names the two GPUs that hold the memory: managed memory may be elsewhere");
    }
  }
  return has_copy_path(context(), flow);
}

std::unique_ptr<Transfer> CopyEngine::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<EngineTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
