// copy-engine: see the header.
#include "backend/gpu/copy_engine.hpp"

#include <algorithm>

#include "backend/gpu/check.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "base/error.hpp"
#include "model/copy_check.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::uint64_t queue_share =
    256;  // of about a thousand commands that a stream takes before it blocks
constexpr Bytes lead_in_bytes = 64 * KiB;

PeerAccess wanted_peer_access(const Flow& flow) {
  const std::string word = flow.parameters.word("peer_access", "on");
  if (word == "on") return PeerAccess::on;
  if (word == "off") return PeerAccess::off;
  throw Error(Fault::bad_input, "parameter peer_access: '" + word + "' is neither on nor off");
}

bool asynchronous(const Endpoint& end) {
  return end.memory != "pageable" && end.memory != "huge" && end.memory != "managed";
}

class EngineTransfer final : public GpuTransfer {
 public:
  EngineTransfer(std::shared_ptr<Context> context, const Flow& flow, const Arenas& arenas)
      : context_(std::move(context)),
        device_(flow.executor.index),
        bytes_(flow.bytes),
        arenas_(arenas),
        check_(arenas.source, arenas.destination, flow.bytes, arenas.rotation) {
    const bool staged = between_gpus(flow) && wanted_peer_access(flow) == PeerAccess::off;
    if (between_gpus(flow)) {
      context_->set_peer_access(flow.source->device.index, flow.destination->device.index,
                                wanted_peer_access(flow));
    }
    const bool returns = asynchronous(*flow.source) && asynchronous(*flow.destination) && !staged;
    enqueueing_ = returns ? Enqueue::returns : Enqueue::blocks;
    copy_once();
  }

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] Enqueue enqueueing() const override { return enqueueing_; }
  [[nodiscard]] std::uint64_t max_repeats() const override {
    return enqueueing_ == Enqueue::returns ? queue_share : GpuTransfer::max_repeats();
  }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, ++touched_) {
      const Bytes slot = touched_ % arenas_.rotation.slots * arenas_.rotation.stride;
      LINKSCOPE_CHECK(gpuMemcpyAsync(arenas_.destination->data() + slot, arenas_.source->data() + slot,
                                     bytes_, gpuMemcpyDefault, stream));
    }
  }
  void lead_in(gpuStream_t stream) override {
    if (enqueueing_ == Enqueue::blocks) return;
    const Bytes slot = touched_ % arenas_.rotation.slots * arenas_.rotation.stride;
    LINKSCOPE_CHECK(gpuMemcpyAsync(arenas_.destination->data() + slot, arenas_.source->data() + slot,
                                   std::min(bytes_, lead_in_bytes), gpuMemcpyDefault, stream));
  }

  void arm(std::uint64_t seed) override {
    check_.arm(seed);
    touched_ = 0;
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return check_.verify(seed, touched_);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return check_.verified_bytes(touched_); }
  void flush() override { check_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> found;
    for (const Buffer* buffer : {arenas_.source, arenas_.destination}) {
      if (std::string where = buffer->residence(); !where.empty()) found.push_back(std::move(where));
    }
    if (enqueueing_ == Enqueue::blocks) found.emplace_back("enqueued after the gate: launch cost is inside");
    return found;
  }

 private:
  /// The driver may set up staging on the first copy of a kind: that must not happen behind a closed gate.
  void copy_once() {
    context_->use(device_);
    const gpuStream_t stream = context_->service_stream(device_);
    LINKSCOPE_CHECK(gpuMemcpyAsync(arenas_.destination->data(), arenas_.source->data(),
                                   std::min(bytes_, 64 * lead_in_bytes), gpuMemcpyDefault, stream));
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  }

  std::shared_ptr<Context> context_;
  int device_;
  Bytes bytes_;
  Arenas arenas_;
  CopyCheck check_;
  Enqueue enqueueing_ = Enqueue::returns;
  std::uint64_t touched_ = 0;
};

}  // namespace

std::map<std::string, std::string> CopyEngine::parameters() const {
  return {{"peer_access", "between two GPUs: on (default), or off: the driver stages through host memory"}};
}

Support CopyEngine::supports(const Flow& flow) const {
  if (const Support complete = has_ends(flow, Ends::both); !complete) return complete;
  const PeerAccess wanted = wanted_peer_access(flow);
  for (const auto& end : {flow.source, flow.destination}) {
    if (end->device.kind != DeviceKind::gpu) continue;
    if (const Support here = context().has(end->device); !here) return here;
  }
  if (!between_gpus(flow)) {
    if (wanted == PeerAccess::on) return Support::yes();
    return Support::no("peer_access off has a meaning only between two GPUs");
  }
  if (wanted == PeerAccess::off) return Support::yes();
  return context().peer(flow.source->device.index, flow.destination->device.index);
}

std::unique_ptr<Transfer> CopyEngine::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<EngineTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
