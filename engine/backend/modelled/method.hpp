// ModelledMethod: any method of the catalog, as the described node's figures say it behaves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/modelled/context.hpp"
#include "backend/modelled/rows.hpp"
#include "backend/modelled/transfer.hpp"
#include "model/method.hpp"

namespace linkscope::modelled {

/// One row of method_rows.
///
/// The model: an operation takes the method's latency and the latency of each link on its route; then its bytes
/// move at a rate. A payload byte takes 1 / efficiency of every link on the route and of the memories at both
/// ends (a local copy: twice of the one memory). Flows share links and memories max-min fairly; none exceeds the
/// method's ceiling (memcpy: ceiling times `threads`). A dependent load takes its memory's latency and each
/// link's twice, unless the figures give all of it (load_ns). Stream takes the links of both of its legs, and counts
/// one array as payload. A parameter that is not modelled makes a flow unsupported.
class ModelledMethod : public ClassMethod {
 public:
  ModelledMethod(std::shared_ptr<const ModelledContext> context, MethodRow row)
      : ClassMethod(row.spec), context_(std::move(context)), row_(row) {}

  /// An empty message takes its latency.
  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override {
    return flow.bytes == 0 ? Quantity::latency : quantity();
  }
  [[nodiscard]] Reach reach() const override { return row_.reach; }
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// Throws Error{bad_input} for an `inject` that is none of crash, hang, corrupt, error.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  /// The two devices that `flow.route` joins.
  struct RouteEnds {
    DeviceId from;
    DeviceId to;
  };

  /// Links that bytes of a flow take one way, and how many of them per byte of payload.
  struct Leg {
    std::vector<std::string> links;
    double share = 1;
  };

  [[nodiscard]] Support supports_parameters(const Flow& flow) const;
  [[nodiscard]] Support supports_ends(const Flow& flow) const;
  [[nodiscard]] Support supports_load(const Flow& flow) const;
  [[nodiscard]] Support supports_access(const Flow& flow) const;
  [[nodiscard]] Support supports_route(const Flow& flow) const;
  [[nodiscard]] RouteEnds ends(const Flow& flow) const;
  /// None where both ends are one device, whatever the plan's route says.
  [[nodiscard]] std::vector<Leg> legs(const Flow& flow) const;
  [[nodiscard]] BandwidthDemand demand(const Flow& flow) const;
  /// Of one operation, before its bytes move.
  [[nodiscard]] Seconds latency(const Flow& flow) const;
  [[nodiscard]] std::uint64_t operations(const Flow& flow) const;

  std::shared_ptr<const ModelledContext> context_;
  MethodRow row_;
};

}  // namespace linkscope::modelled
