// copy-engine: the asynchronous and the synchronous calls, by either of the two interfaces.
#include <algorithm>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "model/copy_check.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes first_copy_bytes = 4 * MiB;

enum class CopyCall { async, sync };
constexpr Parameter copy_call =
    word("call", "async|sync",
         "sync: cudaMemcpy or hipMemcpy on the default stream, waited for until the bytes are there");
enum class CopyApi { memcpy, peer };
constexpr Parameter copy_api =
    word("api", "memcpy|peer", "peer: cudaMemcpyPeerAsync or hipMemcpyPeerAsync, between two GPUs");
constexpr Parameter copy_piece =
    integer("piece", "most bytes of one call; 0: a call copies all", 0, std::int64_t{1} << 40U, 0);
enum class Between { nothing, kernel };
constexpr Parameter between_pieces = word(
    "between", "nothing|kernel",
    "kernel: one of a single thread between two pieces, for which the copy engine lets go of the stream");

/// Bytes of one call.
Bytes piece_of(const Flow& flow) {
  const auto piece = static_cast<Bytes>(flow.parameters.number(copy_piece));
  return piece == 0 ? flow.bytes : piece;
}

/// Commands that a transfer puts into its stream.
std::uint64_t commands_of(const Flow& flow) {
  const std::uint64_t pieces = (flow.bytes + piece_of(flow) - 1) / piece_of(flow);
  return flow.parameters.choice<Between>(between_pieces) == Between::kernel ? 2 * pieces - 1 : pieces;
}

/// Says whether a synchronous call may come back before the bytes are there. The vendors' manuals say that it may
/// within and between GPUs, and out of pageable memory, which the driver stages. They say nothing about managed memory.
bool may_return_early(const Flow& flow) {
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
        call_(flow.parameters.choice<CopyCall>(copy_call)),
        api_(flow.parameters.choice<CopyApi>(copy_api)),
        piece_(piece_of(flow)),
        between_(flow.parameters.choice<Between>(between_pieces)),
        settles_(may_return_early(flow)),
        enqueueing_(call_ == CopyCall::sync ? Enqueue::blocks : enqueueing_of_copy(flow)),
        path_(open_copy_path(*context_, flow)) {
    set_check(std::make_unique<CopyCheck>(arenas.source, arenas.destination, flow.bytes, arenas.rotation));
    if (is_local(flow)) own_facts().touched_bytes = 2 * flow.bytes;
    if (enqueueing_ == Enqueue::returns) {
      own_facts().max_repeats = queue_share / commands_of(flow);
      lead_in_ = lead_in_of(*context_, flow, bytes_);
    }
    if (between_ == Between::kernel) context_->load(device_, call_kernels());
    copy_once();
  }

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] Enqueue enqueueing() const override { return enqueueing_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    await_start_stamp(stream);
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, count(1)) copy_slot(bytes_, stream);
  }
  void lead_in(gpuStream_t stream) override {
    stamped_ = true;
    if (enqueueing_ == Enqueue::returns)
      copy_async(lead_in_.destination, lead_in_.source, lead_in_.bytes, stream);
  }

  void arm(std::uint64_t seed) override {
    GpuTransfer::arm(seed);
    settle_caches(arenas_);
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> found = arenas_.residences();
    if (enqueueing_ == Enqueue::blocks) found.emplace_back(launch_cost_inside);
    if (call_ == CopyCall::sync)
      found.emplace_back("on the default stream: synchronous calls of one GPU wait for one another");
    return found;
  }

 private:
  /// Copies `bytes` of the slot whose turn it is.
  void copy_slot(Bytes bytes, gpuStream_t stream) {
    const Bytes at = transfers() % arenas_.rotation.slots * arenas_.rotation.stride;
    std::byte* to = arenas_.destination->data() + at;
    const std::byte* from = arenas_.source->data() + at;
    for (Bytes done = 0; done < bytes; done += piece_) {
      const Bytes piece = std::min(piece_, bytes - done);
      if (call_ == CopyCall::sync) {
        copy_sync(to + done, from + done, piece);
        continue;
      }
      if (done > 0 && between_ == Between::kernel) check(launch_work(stream, 0), "launch_work");
      copy_async(to + done, from + done, piece, stream);
    }
  }
  void copy_async(std::byte* to, const std::byte* from, Bytes bytes, gpuStream_t stream) {
    if (api_ == CopyApi::peer) {
      LINKSCOPE_CHECK(gpuMemcpyPeerAsync(to, to_, from, from_, bytes, stream));
    } else {
      LINKSCOPE_CHECK(gpuMemcpyAsync(to, from, bytes, gpuMemcpyDefault, stream));
    }
  }
  /// The copy runs on the default stream, as synchronous calls do, and has ended on return.
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
    copy_first(*arenas_.source, *arenas_.destination,
               [&] { copy_slot(std::min(bytes_, first_copy_bytes), stream); });
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  }

  std::shared_ptr<GpuContext> context_;
  int device_;
  int from_;
  int to_;
  Bytes bytes_;
  Arenas arenas_;
  CopyCall call_;
  CopyApi api_;
  Bytes piece_;
  Between between_;
  bool settles_;  ///< whether a synchronous call must be waited for
  Enqueue enqueueing_;
  PeerHold path_;
  LeadIn lead_in_;
  bool stamped_ = false;  ///< whether a start stamp precedes what is enqueued next
};

Support can_copy(const GpuContext& context, const Flow& flow) {
  if (const Support complete = has_ends(context, flow, Ends::both); !complete) return complete;
  if (flow.parameters.choice<CopyApi>(copy_api) == CopyApi::peer) {
    if (!between_gpus(flow)) return Support::no("api peer copies between two GPUs");
    if (flow.source->traits.migrates || flow.destination->traits.migrates) {
      return Support::no("api peer names the two GPUs that hold the memory: managed memory may be elsewhere");
    }
  }
  const bool sync = flow.parameters.choice<CopyCall>(copy_call) == CopyCall::sync;
  const bool on_its_stream =
      flow.parameters.choice<StreamPriority>(stream_priority) == StreamPriority::high ||
      flow.parameters.number(latest_arrival) > 0 ||
      flow.parameters.choice<Between>(between_pieces) == Between::kernel;
  if (sync && on_its_stream)
    return Support::no("call sync copies on the default stream: priority, arrival and between are of others");
  if (flow.parameters.choice<Between>(between_pieces) == Between::kernel && piece_of(flow) >= flow.bytes)
    return Support::no("between: kernel needs two pieces: set piece below " + std::to_string(flow.bytes));
  if (!sync && commands_of(flow) > queue_share)
    return Support::no(std::to_string(commands_of(flow)) + " copies and kernels are more than the " +
                       std::to_string(queue_share) + " that wait behind a gate: set a larger piece");
  return has_copy_path(context, flow);
}

}  // namespace

Method copy_engine(const std::shared_ptr<GpuContext>& context) {
  return stream_row(context,
                    {"copy-engine", "copies by the DMA engines (cudaMemcpyAsync, hipMemcpyAsync)",
                     Quantity::bandwidth, copy_engine_traits},
                    {peer_access, copy_call, copy_api, copy_piece, between_pieces}, &can_copy,
                    &make<EngineTransfer>);
}

}  // namespace linkscope::gpu
