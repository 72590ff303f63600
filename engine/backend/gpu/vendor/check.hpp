// check: turns a vendor status into an Error that names the call.
#pragma once

#include <functional>
#include <string>

#include "backend/gpu/vendor.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {

/// The vendor's own words and number: "out of memory (2)".
std::string describe(gpuError_t status);

/// Returns on success. Otherwise throws Error{no_memory} where an allocation failed, Error{fatal} where the
/// device's context is lost (every later call fails alike), Error{broken} for the rest.
void check(gpuError_t status, const char* call);

/// Calls `step`. Throws Error{unsupported} with `what` and the driver's words where the driver refuses it.
void refusal_is_no_support(const std::string& what, const std::function<void()>& step);

}  // namespace linkscope::gpu

/// The call's text stands in the error.
#define LINKSCOPE_CHECK(call) ::linkscope::gpu::check((call), #call)
