// ModelledCollective: any collective of the catalog, as the described node's figures say it behaves.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/modelled/context.hpp"
#include "backend/modelled/fair_share.hpp"
#include "backend/modelled/rows.hpp"
#include "model/collective.hpp"
#include "model/method.hpp"

namespace linkscope::modelled {

/// Steps of a collective, one after another.
[[nodiscard]] int steps_of(CollectiveKind kind, BlockSchedule schedule, int members);

/// One row of collective_rows.
///
/// The model: a collective takes the method's latency, and for each of its steps the method's step and the latency of
/// the longest way between two members. Then its bytes move, all steps at once: what each pair of members passes on,
/// by the row's Passing, takes 1 / efficiency of every link between them and of their memories. So the link that
/// carries most decides, as in a pipeline. Processes are not told apart.
class ModelledCollective : public ClassMethod {
 public:
  ModelledCollective(std::shared_ptr<const ModelledContext> context, CollectiveRow row)
      : ClassMethod(row.spec), context_(std::move(context)), row_(row) {}

  [[nodiscard]] Quantity quantity_of(const Flow& flow) const override;
  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] Reach reach() const override { return Reach::processes; }
  [[nodiscard]] std::vector<FlowPart> parts(const Flow& flow) const override {
    return collective_parts(flow);
  }
  [[nodiscard]] std::unique_ptr<PreparedParts> assemble(const Flow& flow,
                                                        const std::vector<LocalPart>& own) const override;
  /// Throws Error{unsupported}: a collective has more parts than one.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  /// What one member passes on to another: bytes per byte of the collective's size.
  struct BlockTransfer {
    DeviceId from;
    DeviceId to;
    double share = 0;
  };

  [[nodiscard]] std::vector<BlockTransfer> passages(const CollectiveShape& shape, const Flow& flow) const;
  [[nodiscard]] std::vector<std::string> route(const BlockTransfer& passage) const;
  [[nodiscard]] Support supports_pair(DeviceId from, DeviceId to) const;
  [[nodiscard]] Seconds latency(const CollectiveShape& shape, const Flow& flow) const;
  /// One member's equal part of what the collective asks of the node.
  [[nodiscard]] BandwidthDemand demand(const CollectiveShape& shape, const Flow& flow) const;

  std::shared_ptr<const ModelledContext> context_;
  CollectiveRow row_;
};

}  // namespace linkscope::modelled
