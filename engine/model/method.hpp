// Method and Memory: the two kinds of thing a catalog lists.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/flow.hpp"
#include "model/flow_part.hpp"
#include "model/parameter.hpp"
#include "model/traits.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// What a catalog says of a memory.
struct MemorySpec {
  std::string_view name;  ///< of a literal, as the summary
  std::string_view summary;
  MemoryTraits traits;
};

/// A kind of allocation.
class Memory {
 public:
  explicit Memory(const MemorySpec& spec) : spec_(spec) {}
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] const MemorySpec& spec() const { return spec_; }
  [[nodiscard]] std::string_view name() const { return spec_.name; }
  [[nodiscard]] std::string_view summary() const { return spec_.summary; }
  [[nodiscard]] const MemoryTraits& traits() const { return spec_.traits; }
  /// Says whether an endpoint's advice means anything to it.
  [[nodiscard]] virtual bool takes_advice() const { return false; }
  /// Says whether this machine has it at all.
  [[nodiscard]] virtual Support available() const = 0;
  /// Says whether it can be placed as `where` says.
  [[nodiscard]] virtual Support supports(const Endpoint& where) const = 0;
  /// Says whether an end of `flow` can be in it, the flow's parameters being what they are.
  [[nodiscard]] virtual Support allows(const Flow& /*flow*/) const { return Support::yes(); }
  /// Says whether a buffer that lay so is as good as a new one for the next case. Not where its pages keep a history
  /// that moves figures: migrating ones are on the host as finely divided as they first came there.
  [[nodiscard]] virtual bool reusable(const Endpoint& /*where*/) const { return true; }
  /// Allocates and touches every page as `where` says. Throws Error{no_memory} rather than overcommit.
  [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const = 0;

 private:
  MemorySpec spec_;
};

/// What a method's figure is.
enum class Quantity { bandwidth, latency };

/// Where the ends of a method's flows may be: in one process, or in several.
enum class Reach { process, processes };

/// What a catalog says of a method.
struct MethodSpec {
  std::string_view name;  ///< of a literal, as the summary
  std::string_view summary;
  Quantity quantity = Quantity::bandwidth;
  MethodTraits traits = {};
};

/// A way in which bytes move: a row of the catalog, with the functions that carry it out. They capture the context that
/// they need, and are the same in every process but for available() and supports(), which speak of this one.
struct Method {
  MethodSpec spec;
  std::vector<Parameter> parameters;
  std::function<Support()> available = [] { return Support::yes(); };
  std::function<Support(const Flow&)> supports = [](const Flow& /*flow*/) { return Support::yes(); };
  /// Says whether it takes a flow that it supports in this case: by its clock, beside its other flows.
  std::function<Support(const Flow&, const Case&)> supports_in = [](const Flow&, const Case&) {
    return Support::yes();
  };
  // NOLINTBEGIN(readability-redundant-member-init): lets initialisers leave them out
  /// Of a flow, where a parameter decides (a ping-pong is a latency, a window of messages a bandwidth); empty: spec's.
  std::function<Quantity(const Flow&)> quantity_of = {};
  /// Bytes of memory over which one transfer spreads at either end: more than its payload where that is strided;
  /// 0 where it needs none, or allocates what it needs: `arenas` then holds no buffers.
  std::function<Bytes(const Flow&)> footprint = [](const Flow& flow) { return flow.bytes; };
  /// Bytes from one slot of a rotated flow to the next: less than footprint() where slots can be in one another's gaps.
  /// Empty: the footprint.
  std::function<Bytes(const Flow&)> slot_stride = {};
  /// Bytes through which a rotated flow on these ends must cycle so that no cache serves it
  /// (at least twice the largest cache that could); 0: rotating makes no sense for this method.
  std::function<Bytes(const Flow&)> rotation_bytes = [](const Flow& /*flow*/) { return Bytes{0}; };

  /// Of a method whose flows have one part: makes it ready to run. Nothing allocated here is inside a measured span.
  /// The arenas outlive the transfer.
  std::function<std::unique_ptr<Transfer>(const Flow&, const Arenas&)> prepare = {};
  /// Of a method whose flows have several parts, mostly in several processes: who does what.
  std::function<std::vector<FlowPart>(const Flow&)> parts = {};
  /// The same: makes this process's parts ready, of which there may be none. The arenas outlive the prepared parts.
  std::function<std::unique_ptr<PreparedParts>(const Flow&, const std::vector<LocalPart>&)> assemble = {};
  /// Of a row that stands for two: the one that carries a flow out (run/binding.hpp).
  std::function<const Method&(const Flow&)> chosen = {};
  // NOLINTEND(readability-redundant-member-init)

  /// Where the parts are that assemble() makes ready.
  Reach assembled_reach = Reach::processes;

  [[nodiscard]] std::string_view name() const { return spec.name; }
  [[nodiscard]] std::string_view summary() const { return spec.summary; }
  [[nodiscard]] const MethodTraits& traits() const { return spec.traits; }
  [[nodiscard]] Quantity quantity(const Flow& flow) const {
    return quantity_of ? quantity_of(flow) : spec.quantity;
  }
  [[nodiscard]] Bytes stride(const Flow& flow) const {
    return slot_stride ? slot_stride(flow) : footprint(flow);
  }
  [[nodiscard]] Reach reach() const { return assemble ? assembled_reach : Reach::process; }
  /// Who does what of a flow: its executor all of it, where there is one part.
  [[nodiscard]] std::vector<FlowPart> parts_of(const Flow& flow) const {
    if (parts) return parts(flow);
    return {{flow.rank, flow.executor, flow.source, flow.destination, Timing::timed}};
  }
  [[nodiscard]] std::unique_ptr<PreparedParts> prepare_parts(const Flow& flow,
                                                             const std::vector<LocalPart>& own) const {
    if (assemble) return assemble(flow, own);
    return std::make_unique<PreparedParts>(prepare(flow, own.front().arenas));
  }
};

}  // namespace linkscope
