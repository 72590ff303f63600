// Returning calls: how long an asynchronous call keeps its caller, whatever it sets going.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "model/flow.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

class GpuContext;

/// When the measured span of a transfer ends.
enum class Until { end, call_returns };

/// What parameter `until` means, for the catalog.
std::map<std::string, std::string> until_parameters();
/// Parameter `until`: end (default) or return. Throws Error{bad_input} for another word.
Until wanted_until(const Parameters& parameters);

/// One transfer of the result is the call that enqueues one of `inner`, made by a CPU beside the GPU into a stream that
/// is drained before every start; what was set going is verified as ever. Throws Error{unsupported} where `inner` is no
/// work for a stream, or where its calls return only when the work is done.
std::unique_ptr<Transfer> time_until_return(std::shared_ptr<GpuContext> context,
                                            std::unique_ptr<Transfer> inner);

}  // namespace linkscope::gpu
