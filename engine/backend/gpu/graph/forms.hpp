// Two other forms of work for a stream: replayed from a graph, and timed until its calls return.
#pragma once

#include <cstdint>
#include <memory>

#include "model/parameter.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

class GpuContext;

inline constexpr Parameter recorded_transfers = integer(
    "graph", "transfers recorded into one graph, which is launched once per repeat; 0: no graph", 0, 1024, 0);

/// When the measured span of a transfer ends.
enum class Until { end, call_returns };
inline constexpr Parameter span_until =
    word("until", "end|return",
         "end: the work is done; return: the asynchronous call is back, by the host clock on either clock");

inline constexpr Parameter stream_priority =
    word("priority", "normal|high", "high: by a stream of the highest priority that the device has");
inline constexpr Parameter latest_arrival =
    integer("arrival",
            "above 0: each start times one transfer that begins at a random time, up to so many us after the "
            "others; by the device's clock; the others must leave a multiprocessor free",
            0, 100000, 0);

/// One transfer of the result is one launch of a graph that holds `recorded` transfers of `inner`, one behind the
/// other. They are recorded from the stream and instantiated whenever `inner` is armed or changes its launch shape,
/// outside every measured span; the lead-in is `inner`'s own, outside the graph. Throws Error{unsupported} where
/// `inner` is no work for a stream, or keeps the thread that enqueues it.
std::unique_ptr<Transfer> replay_by_graph(std::shared_ptr<GpuContext> context,
                                          std::unique_ptr<Transfer> inner, std::uint64_t recorded);

/// One transfer of the result is the call that enqueues one of `inner`, made by a CPU beside the GPU into a stream that
/// is drained before every start; what was set going is verified as ever. Throws Error{unsupported} where `inner` is no
/// work for a stream, or where its calls return only when the work is done.
std::unique_ptr<Transfer> time_until_return(std::shared_ptr<GpuContext> context,
                                            std::unique_ptr<Transfer> inner);

}  // namespace linkscope::gpu
