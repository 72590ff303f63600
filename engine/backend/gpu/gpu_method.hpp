// GpuMethod: what the methods of this backend have in common.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/method.hpp"

namespace linkscope::gpu {

class GpuContext;

/// Which ends a flow of the method has.
enum class Ends { source, destination, both };

/// Whether the flow goes from one GPU's memory to another's.
[[nodiscard]] bool between_gpus(const Flow& flow);

/// Caches hold the lines that are touched, not those between: how many times the rotation_bytes() of dense flows an
/// arena must have where each `apart` bytes of it hold `used` that are touched. At most 8: an arena would outgrow
/// memory.
[[nodiscard]] Bytes rotation_spread(Bytes used, Bytes apart);

/// Several times the largest cache of these devices: last level of GPUs and of the hosts' CPUs. What a rotated flow on
/// them must cycle through.
[[nodiscard]] Bytes rotation_bytes_of(const GpuContext& context, const std::vector<DeviceId>& devices);

/// Whether the flow has these ends and its executor is a GPU here.
[[nodiscard]] Support has_ends(const GpuContext& context, const Flow& flow, Ends ends);
/// The same, and the executor's kernels reach every end.
[[nodiscard]] Support kernels_reach(const GpuContext& context, const Flow& flow, Ends ends);

/// Answers whether a row of this backend takes a flow, and makes its transfers.
using AskGpus = std::function<Support(GpuContext&, const Flow&)>;
using MakeTransfer =
    std::function<std::unique_ptr<Transfer>(const std::shared_ptr<GpuContext>&, const Flow&, const Arenas&)>;
/// The MakeTransfer of a class.
template <class T>
std::unique_ptr<Transfer> make(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                               const Arenas& arenas) {
  return std::make_unique<T>(context, flow, arenas);
}

/// The row of a method of this backend: available where there is a GPU, and rotated through rotation_bytes_of() the
/// executor and the ends.
[[nodiscard]] Method gpu_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                             std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);
/// The same for work on a stream: its parameters `graph` and `until` have a transfer replayed from a graph, which is
/// recorded for one slot, or the calls alone timed (graph/forms.hpp).
[[nodiscard]] Method stream_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                                std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);
/// Bytes that a rotated flow of a stream_row() cycles through.
[[nodiscard]] Bytes stream_rotation(const GpuContext& context, const Flow& flow);

/// A method says what is its own (own_parameters, make); what holds for all of them is added here: parameter `graph`
/// of those that move bytes by a stream, which has a transfer replayed from a graph and `until`,
/// which times the calls alone (graph/forms.hpp).
class GpuMethod : public ClassMethod {
 public:
  GpuMethod(std::shared_ptr<GpuContext> context, const MethodSpec& spec)
      : ClassMethod(spec), context_(std::move(context)) {}

  /// Where there is a GPU.
  [[nodiscard]] Support available() const override;
  /// The method's own, and `graph` and `until` where graphable().
  [[nodiscard]] std::map<std::string, std::string> parameters() const final;
  /// What make() gives, recorded into a graph or timed until its calls return where the flow asks for that. Throws
  /// Error{unsupported} where it cannot be.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const final;
  /// rotation_bytes_of() the executor and the ends; 0 for a graph, which is recorded for one slot.
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 protected:
  /// As Method::parameters.
  [[nodiscard]] virtual std::map<std::string, std::string> own_parameters() const { return {}; }
  /// As Method::prepare.
  [[nodiscard]] virtual std::unique_ptr<Transfer> make(const Flow& flow, const Arenas& arenas) const = 0;
  /// Whether its transfers are work for a stream, which a graph can record.
  [[nodiscard]] virtual bool graphable() const { return quantity() == Quantity::bandwidth; }

  [[nodiscard]] GpuContext& context() const { return *context_; }
  [[nodiscard]] const std::shared_ptr<GpuContext>& shared_context() const { return context_; }
  /// Whether the flow has these ends and its executor is a GPU here.
  [[nodiscard]] Support has_ends(const Flow& flow, Ends ends) const;
  /// The same, and the executor's kernels reach every end.
  [[nodiscard]] Support kernels_reach(const Flow& flow, Ends ends) const;

 private:
  std::shared_ptr<GpuContext> context_;
};

}  // namespace linkscope::gpu
