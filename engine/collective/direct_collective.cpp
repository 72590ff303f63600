// Which flows direct-collective supports.
#include "collective/direct_collective.hpp"

#include <string>
#include <utility>

#include "collective/launch_choice.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {
namespace {

/// The same in every process: DirectCommunicator decides what depends on the GPUs that a process sees.
Support supports(const Flow& flow) {
  const CollectiveShape shape = CollectiveShape::of(flow);
  const DirectOptions options = DirectOptions::of(flow.parameters);
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
  if (shape.accumulates() && options.recorded > 1)
    return Support::no(
        "all-reduce in place changes its input: calls of a graph of several cannot be checked; set "
        "recorded: 1");
  const auto algorithm = named_algorithm(flow.parameters);
  if (!algorithm) return Support::yes();
  std::string reason = no_such(shape, *algorithm);
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

}  // namespace

std::unique_ptr<PreparedParts> DirectAssembler::operator()(const Flow& flow,
                                                           const std::vector<LocalPart>& own) const {
  if (own.empty()) return std::make_unique<PreparedParts>();
  return std::make_unique<DirectCommunicator>(gpus, mappings, retired, flow, own, stress);
}

Method direct_collective(const DirectAssembler& assembler) {
  Method row{
      .spec = {"direct-collective",
               "collectives by kernels that load from and store to the other GPUs' memory, one on each GPU",
               Quantity::bandwidth,
               {.maps_members = true}},
      .parameters = collective_parameters()};
  row.parameters.insert(row.parameters.end(),
                        {parameter::form, parameter::recorded, parameter::algorithm, parameter::blocks,
                         parameter::threads, parameter::chunk, parameter::dependent_launch});
  row.available = [gpus = assembler.gpus] { return gpus->available(); };
  row.supports = supports;
  row.quantity_of = [](const Flow& flow) {
    const auto kind = flow.parameters.choice<CollectiveKind>(collective_kind);
    return kind == CollectiveKind::barrier ? Quantity::latency : Quantity::bandwidth;
  };
  row.parts = collective_parts;
  row.assemble = assembler;
  return row;
}

}  // namespace linkscope::direct
