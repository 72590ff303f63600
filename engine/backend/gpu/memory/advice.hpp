// Advice: what an endpoint asks the driver to expect of managed memory.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"

namespace linkscope::gpu {

class GpuContext;

enum class Advice {
  preferred_location,  ///< the pages are to stay at the endpoint's device
  accessed_by,         ///< every processor maps the pages where they are, rather than fault and fetch them
  read_mostly,         ///< hardly ever written: readers may hold copies
  coarse_grained,      ///< AMD: coherent at the ends of kernels only
};

/// "read-mostly+accessed-by" -> the two; nothing of an empty text. Throws Error{bad_input} for an unknown word.
[[nodiscard]] std::set<Advice> parse_advice(std::string_view text);

/// Says whether this vendor has all of it.
[[nodiscard]] Support can_advise(const std::set<Advice>& advice);

/// Gives `where`'s advice, and what its placement stands for: bound is a preferred location, and on the host a mapping
/// into every GPU as well.
void advise(const GpuContext& context, std::byte* address, Bytes bytes, const Endpoint& where);

}  // namespace linkscope::gpu
