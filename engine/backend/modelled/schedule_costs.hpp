// ScheduleCosts: what every step of a schedule asks of the described node.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/modelled/context.hpp"
#include "backend/modelled/pair_buffers.hpp"
#include "backend/modelled/play.hpp"
#include "backend/modelled/rows.hpp"
#include "model/flow.hpp"

namespace linkscope::modelled {

/// Which end of its messages a rank is at.
enum class MessageEnd { source, destination };

/// What the parameter `staging` asks for. full: buffers are copied to the host and back whole, whatever a message fills.
enum class BufferStaging { none, full };

class ScheduleCosts {
 public:
  /// All outlive it. Throws Error{bad_input} for a staging that is none.
  ScheduleCosts(const ModelledContext& context, const ScheduleRow& row, const Flow& flow);

  /// Whether the description has all that the schedule needs, and the node the room.
  [[nodiscard]] Support known() const;

  /// Whether messages are packed before they are sent.
  [[nodiscard]] bool packs() const { return !flow_->state.empty() && row_->packed == PackedInto::own_memory; }
  [[nodiscard]] bool unpacks() const { return !flow_->state.empty(); }
  /// Whether kernels store into the receiver's memory.
  [[nodiscard]] bool stores() const { return row_->packed == PackedInto::peer_memory; }
  [[nodiscard]] bool stages() const { return staging_ == BufferStaging::full; }

  [[nodiscard]] LaneWork message(const Phase& phase, const ScheduledMessage& message) const;
  /// The rank's messages of the phase, one after another: packed, or at their destination unpacked.
  [[nodiscard]] LaneWork packing(const Phase& phase, int rank, MessageEnd end) const;
  /// Their buffers, between the rank's memory and the host's.
  [[nodiscard]] LaneWork staging(const Phase& phase, int rank, MessageEnd end) const;
  [[nodiscard]] Seconds collective(const SmallCollective& what) const;

 private:
  using StepIndex = std::map<std::pair<int, int>, std::vector<const StepFigures*>>;

  /// One of a rank's own steps: how many bytes, begun how often.
  struct Portion {
    Bytes bytes = 0;
    std::uint64_t launches = 1;
  };

  [[nodiscard]] const MethodFigures* message_figures(const ScheduledMessage& message) const;
  [[nodiscard]] DeviceId message_end(int rank) const;
  [[nodiscard]] LaneWork own_steps(const std::vector<Portion>& portions, const StepIndex& index, int rank,
                                   DeviceId from, DeviceId to) const;
  [[nodiscard]] Support known_message(const ScheduledMessage& message) const;
  [[nodiscard]] Support known_phase(const Phase& phase) const;
  [[nodiscard]] Support known_collectives() const;
  [[nodiscard]] Support known_devices() const;
  [[nodiscard]] Support known_way(DeviceId from, DeviceId to) const;
  [[nodiscard]] Support enough_memory() const;
  [[nodiscard]] std::string lacks(const std::string& what) const;

  const ModelledContext* context_;
  const ScheduleRow* row_;
  const Flow* flow_;
  BufferStaging staging_ = BufferStaging::none;
  PairBuffers buffers_;
  StepIndex messages_;
  StepIndex packs_;
  StepIndex copies_out_;
  StepIndex copies_in_;
};

}  // namespace linkscope::modelled
