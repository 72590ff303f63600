// shm-copy: messages between two processes of a host, copied by the CPU straight into the receiver's memory.
#include "backend/host/backend.hpp"
#include "backend/host/shm_transfer.hpp"

namespace linkscope::host {
namespace {

/// This process's end, and the rank that has the other.
class ShmParts final : public PreparedParts {
 public:
  ShmParts(std::unique_ptr<ShmTransfer> end, int peer) : end_(std::move(end)), peer_(peer) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const override { return {end_.get()}; }
  [[nodiscard]] std::string export_handles() override { return end_->export_handles(); }
  void import_handles(const std::vector<std::string>& exports) override {
    end_->connect(exports.at(static_cast<std::size_t>(peer_)));
  }

 private:
  std::unique_ptr<ShmTransfer> end_;
  int peer_;
};

Support not_shareable(const Endpoint& end) {
  return Support::no("another process cannot map " + end.memory + " memory: a receiver's must be shm");
}

Support supports(const Flow& flow) {
  if (!flow.source || !flow.destination) return Support::no("shm-copy needs a source and a destination");
  if (flow.source->rank == flow.destination->rank)
    return Support::no(
        "shm-copy moves data between processes, and both ends are in one: memcpy copies there");
  for (const Endpoint* end : {&*flow.source, &*flow.destination}) {
    if (end->device.kind != DeviceKind::numa) return Support::no(end->device.text() + " is no host memory");
  }
  if (!flow.destination->traits.shareable) return not_shareable(*flow.destination);
  const bool both = flow.parameters.choice<ShmCall>(shm_call) == ShmCall::ping_pong;
  return both && !flow.source->traits.shareable ? not_shareable(*flow.source) : Support::yes();
}

std::vector<FlowPart> parts_of(const Flow& flow) {
  FlowPart from{flow.source->rank, flow.source->device, flow.source, std::nullopt, Timing::timed};
  FlowPart to{flow.destination->rank, flow.destination->device, std::nullopt, flow.destination,
              Timing::untimed};
  if (flow.parameters.choice<ShmCall>(shm_call) == ShmCall::ping_pong) {
    from.destination = flow.source;
    to.source = flow.destination;
  }
  return {std::move(from), std::move(to)};
}

std::unique_ptr<PreparedParts> assemble(const Flow& flow, const std::vector<LocalPart>& own) {
  if (own.empty()) return std::make_unique<NoParts>();
  const LocalPart& part = own.front();
  const Side side = part.index == 0 ? Side::source : Side::destination;
  const Endpoint& here = side == Side::source ? *flow.source : *flow.destination;
  const Endpoint& there = side == Side::source ? *flow.destination : *flow.source;
  return std::make_unique<ShmParts>(std::make_unique<ShmTransfer>(here.device.index, flow, side, part.arenas),
                                    there.rank);
}

}  // namespace

Method shm_copy(const std::shared_ptr<HostContext>& context) {
  Method row{{"shm-copy", "messages between two processes of a host, copied straight into shared memory",
              Quantity::bandwidth, shm_copy_traits},
             {shm_call}};
  row.supports = supports;
  row.quantity_of = [](const Flow& flow) {
    return flow.parameters.choice<ShmCall>(shm_call) == ShmCall::ping_pong ? Quantity::latency
                                                                           : Quantity::bandwidth;
  };
  row.rotation_bytes = [context](const Flow& flow) {
    return context->rotation_bytes({flow.source->device, flow.destination->device}) / both_ends;
  };
  row.parts = parts_of;
  row.assemble = assemble;
  return row;
}

}  // namespace linkscope::host
