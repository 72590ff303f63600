// Reading what accesses a flow asks for.
#include "backend/gpu/kernel/access_pattern.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

std::uint64_t positive(const Parameters& parameters, const char* name, std::uint64_t otherwise) {
  constexpr std::int64_t most = 1LL << 32U;
  const std::int64_t value = parameters.number(name, static_cast<std::int64_t>(otherwise));
  if (value < 1 || value > most)
    throw Error(Fault::bad_input, std::string("parameter ") + name + ": 1 to 4294967296");
  return static_cast<std::uint64_t>(value);
}

void set_chunk(AccessPattern& pattern, const Parameters& parameters, unsigned warp_size) {
  pattern.pitch = positive(parameters, "chunk", warp_size);
  pattern.fill = positive(parameters, "fill", std::min<std::uint64_t>(pattern.pitch, warp_size));
  pattern.unit = AccessPattern::Unit::warp;
  if (pattern.fill > pattern.pitch) throw Error(Fault::bad_input, "parameter fill: at most chunk");
  if (pattern.fill > warp_size) {
    throw Error(Fault::unsupported, "a warp of this GPU has " + std::to_string(warp_size) +
                                        " threads, and fill asks for " + std::to_string(pattern.fill));
  }
}

}  // namespace

bool AccessPattern::asked(const Parameters& parameters) {
  const auto known = pattern_parameters();
  return std::any_of(known.begin(), known.end(),
                     [&](const auto& each) { return parameters.all().contains(each.first); });
}

AccessPattern AccessPattern::of(const Flow& flow, unsigned warp_size) {
  const Parameters& parameters = flow.parameters;
  AccessPattern pattern;
  pattern.width = positive(parameters, "width", pattern.width);
  if (pattern.width > 16 || (pattern.width & (pattern.width - 1)) != 0)
    throw Error(Fault::bad_input, "parameter width: 1, 2, 4, 8 or 16");
  const bool chunked = parameters.all().contains("chunk") || parameters.all().contains("fill");
  if (chunked && parameters.all().contains("stride"))
    throw Error(Fault::bad_input, "parameters stride and chunk exclude each other");
  if (chunked) {
    set_chunk(pattern, parameters, warp_size);
  } else {
    pattern.pitch = positive(parameters, "stride", 1);
  }
  const std::uint64_t accesses = flow.bytes / pattern.width;
  pattern.whole_units = accesses / pattern.fill;
  pattern.last_accesses = accesses % pattern.fill;
  return pattern;
}

std::map<std::string, std::string> pattern_parameters() {
  return {{"width", "bytes of one access: 1, 2, 4, 8 or 16; default: 16"},
          {"stride", "distance between accesses, in widths; default: 1"},
          {"chunk", "widths in each chunk that a warp takes; default: none, or a warp where fill is named"},
          {"fill",
           "accesses in a chunk, from its start on, one per lane; default: a warp, or the chunk if smaller"}};
}

}  // namespace linkscope::gpu
