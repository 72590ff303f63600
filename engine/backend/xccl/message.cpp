// A message's parts and what each checks.
#include "backend/xccl/message.hpp"

#include <string>
#include <vector>

#include "backend/xccl/grouped_messages.hpp"
#include "base/error.hpp"
#include "model/copy_check.hpp"

namespace linkscope::xccl {
namespace {

RankDevice member_at(const Endpoint& end) { return {end.rank, end.device.index}; }

/// One end of a message: the source's, or the destination's.
using MessageEnd = CheckedGroupTransfer<CopyCheck>;

class XcclMessageParts final : public PreparedParts {
 public:
  XcclMessageParts(std::shared_ptr<XcclContext> context, const Flow& flow, const std::vector<LocalPart>& own)
      : context_(std::move(context)),
        exchange_(GroupedMessages::of(context_, flow.role, CallOptions::of(flow.parameters))),
        message_{member_at(*flow.source), member_at(*flow.destination), flow.bytes, nullptr, nullptr, {}},
        sends_(!own.empty() && own.front().index == 0),
        first_(exchange_->empty()) {
    for (const LocalPart& part : own) {
      const RankDevice& here = part.index == 0 ? message_.from : message_.to;
      const Arenas& arenas = part.arenas;
      ends_.push_back(std::make_unique<MessageEnd>(
          exchange_, here.device, arenas.rotation.slots,
          CopyCheck(arenas.source, arenas.destination, flow.bytes, arenas.rotation)));
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
  [[nodiscard]] std::string export_handles() override {
    return first_ && sends_ ? text_of(context_->communicators().export_handles()) : std::string();
  }
  void import_handles(const std::vector<std::string>& exports) override {
    if (!first_) return;
    context_->communicators().next_wish();
    exchange_->identify(read_id(exports.at(static_cast<std::size_t>(message_.from.rank))));
  }
  void finish() override { exchange_->finish(); }

 private:
  std::shared_ptr<XcclContext> context_;
  std::shared_ptr<GroupedMessages> exchange_;
  XcclMessage message_;
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
  return has_form(flow);
}

std::vector<FlowPart> Xccl::parts(const Flow& flow) const {
  const Endpoint& source = *flow.source;
  const Endpoint& destination = *flow.destination;
  return {{source.rank, source.device, source, std::nullopt, Timing::timed},
          {destination.rank, destination.device, std::nullopt, destination, Timing::timed}};
}

std::unique_ptr<PreparedParts> Xccl::assemble(const Flow& flow, const std::vector<LocalPart>& own) const {
  return std::make_unique<XcclMessageParts>(context(), flow, own);
}

std::vector<DeviceId> Xccl::gpus(const Flow& flow) const {
  return {flow.source->device, flow.destination->device};
}

}  // namespace linkscope::xccl
