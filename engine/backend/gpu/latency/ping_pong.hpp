// ping-pong: two GPUs answer one another through flags in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/gpu_method.hpp"

namespace linkscope::gpu {

/// The initiator (executor) stores to a flag in the destination's memory, where the responder polls, and polls a flag
/// in the source's memory, where the responder answers: memory of either GPU, or page-locked host memory. Stores
/// and loads are of system scope, relaxed or release and acquire (parameter `ordering`). One operation is one way: half
/// a round trip; a transfer is `round_trips` round trips inside one launch on each side. Only the initiator's launch is
/// timed; the responder is up before.
class PingPong final : public GpuMethod {
 public:
  explicit PingPong(std::shared_ptr<GpuContext> context)
      : GpuMethod(std::move(context),
                  {"ping-pong", "flags stored and polled by two GPUs in turn; half the round trip",
                   Quantity::latency, ping_pong_traits}) {}

  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// A flag is one line.
  [[nodiscard]] Bytes rotation_bytes(const Flow& /*flow*/) const override { return 0; }

 protected:
  [[nodiscard]] std::map<std::string, std::string> own_parameters() const override;
  [[nodiscard]] std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const override;
};

}  // namespace linkscope::gpu
