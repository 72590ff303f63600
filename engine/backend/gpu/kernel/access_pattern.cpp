// Reading what accesses a flow asks for.
#include "backend/gpu/kernel/access_pattern.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::int64_t most_widths = 1LL << 32U;
constexpr Bytes largest_span = Bytes{1} << 48U;

constexpr Parameter width = integer("width", "bytes of one access, a power of two", 1, 16, 16);
constexpr Parameter stride = integer("stride", "distance between accesses, in widths", 1, most_widths, 1);
constexpr Parameter chunk = integer(
    "chunk", "widths in each chunk that a warp takes; unless set, a warp where fill is set, else none", 1,
    most_widths);
constexpr Parameter fill = integer(
    "fill",
    "accesses in a chunk, from its start on, one per lane; unless set, a warp, or the chunk if smaller", 1,
    most_widths);

std::uint64_t whole(std::int64_t number) { return static_cast<std::uint64_t>(number); }

void set_chunk(AccessPattern& pattern, const Parameters& parameters, unsigned warp_size) {
  pattern.pitch = whole(parameters.given_number(chunk).value_or(warp_size));
  const std::uint64_t most_fill = std::min<std::uint64_t>(pattern.pitch, warp_size);
  pattern.fill = whole(parameters.given_number(fill).value_or(static_cast<std::int64_t>(most_fill)));
  pattern.unit = AccessPattern::Unit::warp;
  if (pattern.fill > pattern.pitch) throw Error(Fault::bad_input, "parameter fill: at most chunk");
  if (pattern.fill > warp_size) {
    throw Error(Fault::unsupported, "a warp of this GPU has " + std::to_string(warp_size) +
                                        " threads, and fill asks for " + std::to_string(pattern.fill));
  }
}

AccessPattern pattern_of(const GpuContext& gpus, const Flow& flow) {
  return AccessPattern::of(flow, static_cast<unsigned>(gpus.device(flow.executor.index).warp_size));
}

Support takes(const GpuContext& gpus, const Flow& flow, Ends ends) {
  Support reached = kernels_reach(gpus, flow, ends);
  if (!reached || !AccessPattern::asked(flow.parameters)) return reached;
  const AccessPattern pattern = pattern_of(gpus, flow);
  if (flow.bytes == 0 || flow.bytes % pattern.width != 0) {
    return Support::no(std::to_string(flow.bytes) + " B is not a whole number of accesses of " +
                       std::to_string(pattern.width) + " B");
  }
  if (pattern.units() > largest_span / (pattern.pitch * pattern.width))
    return Support::no("accesses so far apart spread over more than any machine holds");
  if (flow.parameters.number(streaming_parameter) != 0)
    return Support::no("narrow, strided and chunked accesses have no streaming form");
  return Support::yes();
}

std::unique_ptr<Transfer> make_access(const std::shared_ptr<GpuContext>& gpus, const Flow& flow,
                                      const Arenas& arenas, CompleteWork dense) {
  if (AccessPattern::asked(flow.parameters))
    return std::make_unique<SweepTransfer>(patterned_work(gpus, flow, arenas, pattern_of(*gpus, flow)));
  SweepWork work = dense_work(gpus, flow, arenas);
  dense(work, flow);
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace

bool AccessPattern::asked(const Parameters& parameters) {
  return parameters.sets(gpu::width) || parameters.sets(stride) || parameters.sets(chunk) ||
         parameters.sets(gpu::fill);
}

AccessPattern AccessPattern::of(const Flow& flow, unsigned warp_size) {
  const Parameters& parameters = flow.parameters;
  AccessPattern pattern;
  pattern.width = whole(parameters.number(gpu::width));
  if ((pattern.width & (pattern.width - 1)) != 0)
    throw Error(Fault::bad_input, "parameter width: 1, 2, 4, 8 or 16");
  const bool chunked = parameters.sets(chunk) || parameters.sets(gpu::fill);
  if (chunked && parameters.sets(stride))
    throw Error(Fault::bad_input, "parameters stride and chunk exclude each other");
  if (chunked) {
    set_chunk(pattern, parameters, warp_size);
  } else {
    pattern.pitch = whole(parameters.number(stride));
  }
  const std::uint64_t accesses = flow.bytes / pattern.width;
  pattern.whole_units = accesses / pattern.fill;
  pattern.last_accesses = accesses % pattern.fill;
  return pattern;
}

Method access_method(const std::shared_ptr<GpuContext>& gpus, const MethodSpec& spec, Ends ends,
                     CompleteWork dense) {
  Method row = stream_row(
      gpus, spec, parameters_of(sweep_numbers, {width, stride, chunk, fill}),
      [ends](GpuContext& context, const Flow& flow) { return takes(context, flow, ends); },
      [dense](const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas) {
        return make_access(context, flow, arenas, dense);
      });
  row.footprint = [gpus](const Flow& flow) {
    return AccessPattern::asked(flow.parameters) ? pattern_of(*gpus, flow).span() : flow.bytes;
  };
  row.rotation_bytes = [gpus, rotates = row.rotation_bytes](const Flow& flow) {
    if (!AccessPattern::asked(flow.parameters)) return rotates(flow);
    const AccessPattern pattern = pattern_of(*gpus, flow);
    return rotates(flow) * rotation_spread(pattern.fill * pattern.width, pattern.pitch * pattern.width);
  };
  return row;
}

}  // namespace linkscope::gpu
