// Which flows direct-collective supports, and who makes them ready.
#include "collective/direct_collective.hpp"

#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/ipc/mapping.hpp"
#include "base/error.hpp"
#include "collective/direct_communicator.hpp"
#include "collective/launch_choice.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

DirectCollective::DirectCollective(std::shared_ptr<gpu::GpuContext> context)
    : ClassMethod(
          {"direct-collective",
           "collectives by kernels that load from and store to the other GPUs' memory, one on each GPU",
           Quantity::bandwidth, direct_collective_traits}),
      context_(std::move(context)),
      mappings_(std::make_shared<gpu::IpcMappings>(context_)),
      retired_(std::make_shared<RetiredWorkspaces>()) {}

DirectCollective::DirectCollective(const DirectCollective& other, const StressOptions& stress)
    : ClassMethod(other.spec()),
      context_(other.context_),
      mappings_(other.mappings_),
      retired_(other.retired_),
      stress_(stress) {}

std::function<void()> DirectCollective::free_retired() const {
  return [retired = retired_] { retired->clear(); };
}

Quantity DirectCollective::quantity_of(const Flow& flow) const {
  return flow.parameters.word("collective", "") == "barrier" ? Quantity::latency : Quantity::bandwidth;
}

std::map<std::string, std::string> DirectCollective::parameters() const {
  auto all = collective_parameters();
  all.merge(choice_parameters());
  all.merge(form_parameters());
  return all;
}

Support DirectCollective::available() const {
  return context_->device_count() > 0 ? Support::yes() : Support::no(context_->problem());
}

Support DirectCollective::supports(const Flow& flow) const {
  const CollectiveShape shape = CollectiveShape::of(flow);
  static_cast<void>(DirectOptions::of(flow.parameters));  // throws for what means nothing
  if (shape.members < 2 || shape.members > most_members) {
    return Support::no("direct-collective has 2 to " + std::to_string(most_members) + " members, not " +
                       std::to_string(shape.members));
  }
  for (const Endpoint& member : flow.members) {
    if (member.device.kind != DeviceKind::gpu)
      return Support::no(member.device.text() + " is not a GPU: its kernels carry out the collective");
  }
  if (shape.accumulates() && shape.kind != CollectiveKind::all_reduce)
    return Support::no("direct-collective has no " + std::string(name_of(shape.kind)) +
                       " in place: members may overwrite what others have yet to load");
  if (shape.accumulates() && DirectOptions::of(flow.parameters).recorded > 1)
    return Support::no(
        "all-reduce in place works on its own results: of a graph of several calls none could be "
        "checked, recorded: 1 can be");
  if (stress_.self_check == SelfCheck::on && (shape.type != ElementType::int32 || shape.place == InPlace::in))
    return Support::no("a self-check is of int32, out of place");
  const auto algorithm = read_algorithm(flow.parameters.word("algorithm", "auto"));
  if (!algorithm) return Support::yes();
  std::string reason = no_such(shape, *algorithm);
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

std::unique_ptr<PreparedParts> DirectCollective::assemble(const Flow& flow,
                                                          const std::vector<LocalPart>& own) const {
  if (own.empty()) return std::make_unique<NoParts>();
  return std::make_unique<DirectCommunicator>(context_, mappings_, retired_, flow, own, stress_);
}

std::unique_ptr<Transfer> DirectCollective::prepare(const Flow& /*flow*/, const Arenas& /*arenas*/) const {
  throw Error(Fault::unsupported, "direct-collective needs members");
}

}  // namespace linkscope::direct
