#include "backend/gpu/kernel/access_method.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/grid.hpp"

namespace linkscope::gpu {
namespace {

constexpr Bytes largest_span = Bytes{1} << 48U;

AccessPattern pattern_of(const GpuContext& context, const Flow& flow) {
  return AccessPattern::of(flow, static_cast<unsigned>(context.device(flow.executor.index).warp_size));
}

}  // namespace

std::map<std::string, std::string> AccessMethod::own_parameters() const {
  auto all = parameters_of(sweep_numbers);
  all.merge(pattern_parameters());
  return all;
}

Support AccessMethod::supports(const Flow& flow) const {
  Support reached = kernels_reach(flow, ends());
  if (!reached || !AccessPattern::asked(flow.parameters)) return reached;
  const AccessPattern pattern = pattern_of(context(), flow);
  if (flow.bytes == 0 || flow.bytes % pattern.width != 0) {
    return Support::no(std::to_string(flow.bytes) + " B is not a whole number of accesses of " +
                       std::to_string(pattern.width) + " B");
  }
  if (pattern.units() > largest_span / (pattern.pitch * pattern.width))
    return Support::no("accesses so far apart spread over more than any machine holds");
  if (flow.parameters.number("streaming", 0) != 0)
    return Support::no("narrow, strided and chunked accesses have no streaming form");
  return Support::yes();
}

Bytes AccessMethod::footprint(const Flow& flow) const {
  return AccessPattern::asked(flow.parameters) ? pattern_of(context(), flow).span() : flow.bytes;
}

Bytes AccessMethod::rotation_bytes(const Flow& flow) const {
  const Bytes dense = GpuMethod::rotation_bytes(flow);
  if (!AccessPattern::asked(flow.parameters)) return dense;
  const AccessPattern pattern = pattern_of(context(), flow);
  return dense * rotation_spread(pattern.fill * pattern.width, pattern.pitch * pattern.width);
}

std::unique_ptr<Transfer> AccessMethod::make(const Flow& flow, const Arenas& arenas) const {
  if (!AccessPattern::asked(flow.parameters)) return make_dense(flow, arenas);
  return make_patterned(shared_context(), flow, arenas, pattern_of(context(), flow));
}

}  // namespace linkscope::gpu
