// A message's parts and what each checks.
#include "backend/xccl/message.hpp"

#include <string>
#include <vector>

#include "backend/gpu/gpu_method.hpp"
#include "backend/xccl/exchange.hpp"
#include "base/error.hpp"
#include "model/copy_check.hpp"

namespace linkscope::xccl {
namespace {

Member member_at(const Endpoint& end) { return {end.rank, end.device.index}; }

/// One end of a message: the source's, or the destination's.
class MessageEnd final : public JointTransfer {
 public:
  MessageEnd(std::shared_ptr<Exchange> exchange, int device, const Flow& flow, const Arenas& arenas)
      : JointTransfer(std::move(exchange), device, arenas.rotation.slots),
        check_(arenas.source, arenas.destination, flow.bytes, arenas.rotation) {}

  void flush() override { check_.flush(); }

 private:
  void arm_buffers(std::uint64_t seed) override { check_.arm(seed); }
  [[nodiscard]] std::optional<Mismatch> verify_buffers(std::uint64_t seed,
                                                       std::uint64_t slots_touched) const override {
    return check_.verify(seed, slots_touched);
  }
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const override {
    return check_.verified_bytes(slots_touched);
  }

  CopyCheck check_;
};

class MessageEnsemble final : public Ensemble {
 public:
  MessageEnsemble(std::shared_ptr<Context> context, const Flow& flow, const std::vector<OwnPart>& own)
      : context_(std::move(context)),
        exchange_(Exchange::of(context_, flow.role, Form::of(flow.parameters))),
        message_{member_at(*flow.source), member_at(*flow.destination), flow.bytes, nullptr, nullptr, {}},
        sends_(!own.empty() && own.front().index == 0),
        first_(exchange_->empty()) {
    for (const OwnPart& part : own) {
      const Member& here = part.index == 0 ? message_.from : message_.to;
      ends_.push_back(std::make_unique<MessageEnd>(exchange_, here.device, flow, part.arenas));
      message_.rotation = part.arenas.rotation;
      (part.index == 0 ? message_.source : message_.destination) =
          part.index == 0 ? part.arenas.source : part.arenas.destination;
    }
    exchange_->add(message_);
  }

  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    std::vector<Transfer*> all;
    for (const auto& end : ends_) all.push_back(end.get());
    return all;
  }
  /// The sender of a case's first message names the communicator of all.
  [[nodiscard]] std::string offer() override {
    return first_ && sends_ ? text_of(context_->communicators().offer()) : std::string();
  }
  void connect(const std::vector<std::string>& offers) override {
    if (first_) exchange_->identify(read_id(offers.at(static_cast<std::size_t>(message_.from.rank))));
  }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<Exchange> exchange_;
  Message message_;
  bool sends_;
  bool first_;
  std::vector<std::unique_ptr<MessageEnd>> ends_;
};

}  // namespace

std::map<std::string, std::string> Xccl::parameters() const { return form_parameters(); }

Support Xccl::supports(const Flow& flow) const {
  if (!flow.source || !flow.destination) return Support::no("xccl needs a source and a destination");
  for (const Endpoint* end : {&*flow.source, &*flow.destination}) {
    if (end->device.kind != DeviceKind::gpu)
      return Support::no("xccl sends between GPUs' memories, not " + end->device.text() + "'s");
  }
  if (member_at(*flow.source) == member_at(*flow.destination))
    return Support::no("xccl sends from one GPU to another, not to itself");
  if (flow.bytes == 0) return Support::no("xccl has no empty messages");
  static_cast<void>(Form::of(flow.parameters));
  return Support::yes();
}

std::vector<Part> Xccl::parts(const Flow& flow) const {
  const Endpoint& source = *flow.source;
  const Endpoint& destination = *flow.destination;
  return {{source.rank, source.device, source, std::nullopt, Timing::timed},
          {destination.rank, destination.device, std::nullopt, destination, Timing::timed}};
}

std::unique_ptr<Ensemble> Xccl::assemble(const Flow& flow, const std::vector<OwnPart>& own) const {
  return std::make_unique<MessageEnsemble>(context_, flow, own);
}

std::unique_ptr<Transfer> Xccl::prepare(const Flow& flow, const Arenas& /*arenas*/) const {
  throw Error(Fault::broken, flow.method + " has two parts: assemble() makes them");
}

Bytes Xccl::rotation_bytes(const Flow& flow) const {
  if (Form::of(flow.parameters).graph()) return 0;
  return gpu::rotation_bytes_of(*context_->gpus(), {flow.source->device, flow.destination->device});
}

}  // namespace linkscope::xccl
