// GraphTransfer: another transfer's work, recorded into a graph once and launched from there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backend/gpu/transfer.hpp"
#include "model/flow.hpp"

namespace linkscope::gpu {

class GpuContext;

/// What parameter `graph` means, for the catalog.
std::map<std::string, std::string> graph_parameters();
/// Parameter `graph`: transfers that one graph holds, 0 for no graph. Throws Error{bad_input} for what none could hold.
std::uint64_t graph_operations(const Parameters& parameters);

/// One transfer of the result is one launch of a graph that holds `recorded` transfers of `inner`, one behind the
/// other. It is recorded from the stream and instantiated whenever `inner` is armed or changes its launch shape,
/// outside every measured span; its lead-in is `inner`'s own, outside the graph. Throws Error{unsupported} where
/// `inner` is no work for a stream, or keeps the thread that enqueues it.
std::unique_ptr<Transfer> replay_by_graph(std::shared_ptr<GpuContext> context,
                                          std::unique_ptr<Transfer> inner, std::uint64_t recorded);

}  // namespace linkscope::gpu
