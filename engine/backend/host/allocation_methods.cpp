#include "backend/host/allocation_methods.hpp"

#include "backend/host/page_mapping.hpp"

namespace linkscope::host {

namespace {

constexpr std::uint64_t most_held = 4096;  // a malloc takes some 20 ns: enough for a sample

}  // namespace

Support names_host_memory(const Flow& flow) {
  if (flow.source || !flow.destination) {
    return Support::no(flow.method + " has no source, and a destination that names the memory");
  }
  const Endpoint& where = *flow.destination;
  if (!where.traits.is_private()) {
    return Support::no(flow.method + " by a CPU knows pageable and huge memory, not " + where.memory);
  }
  if (where.traits.huge_pages && huge_page_bytes() == 0) return Support::no("this kernel has no huge pages");
  if (where.device.kind == DeviceKind::numa) return Support::yes();
  return Support::no(where.memory + " memory is on NUMA nodes, not on " + where.device.text());
}

std::unique_ptr<Transfer> make_host_calls(HostContext& context, int node, const Flow& flow,
                                          Measured measured) {
  const bool several = context.topology().nodes().size() > 1;
  const BlockCount many = host_blocks_to_hold(flow.destination->traits, flow.bytes,
                                              several ? std::optional<int>(node) : std::nullopt, most_held);
  return std::make_unique<AllocationCalls>(
      context, node, allocate_on_host(flow.destination->traits, many, node), many.count, measured);
}

Support HostAllocationMethod::supports(const Flow& flow) const {
  if (const Support named = names_host_memory(flow); !named) return named;
  return context_->can_execute(flow.executor);
}

std::unique_ptr<Transfer> HostAllocationMethod::prepare(const Flow& flow, const Arenas& /*arenas*/) const {
  return make_host_calls(*context_, flow.executor.index, flow, measured_);
}

}  // namespace linkscope::host
