#include "backend/modelled/method.hpp"

#include <array>

#include "base/error.hpp"

namespace linkscope::modelled {
namespace {

constexpr std::int64_t default_hops = 10000;

bool needs_source(Motion shape) { return shape != Motion::write; }
bool needs_destination(Motion shape) { return shape != Motion::read && shape != Motion::chase; }

Injection injection_of(const Flow& flow) {
  static constexpr std::array<std::pair<const char*, Injection>, 5> words{{{"none", Injection::none},
                                                                           {"crash", Injection::crash},
                                                                           {"hang", Injection::hang},
                                                                           {"corrupt", Injection::corrupt},
                                                                           {"error", Injection::error}}};
  const std::string asked = flow.parameters.word("inject", "none");
  for (const auto& [word, injection] : words) {
    if (asked == word) return injection;
  }
  throw Error(Fault::bad_input, "inject is crash, hang, corrupt or error, not '" + asked + "'");
}

}  // namespace

std::map<std::string, std::string> ModelledMethod::parameters() const {
  std::map<std::string, std::string> known{{"inject", "crash, hang, corrupt or error: a fault to test with"}};
  for (const std::string_view name : row_.ignored) {
    if (!name.empty()) known[std::string(name)] = "accepted; makes no difference to the model";
  }
  if (row_.motion == Motion::chase) known["hops"] = "dependent loads in one transfer (10000)";
  if (row_.driver == Driver::cpu) known["threads"] = "copying threads; the ceiling is per thread (1)";
  return known;
}

Support ModelledMethod::supports(const Flow& flow) const {
  if (figures() == nullptr) {
    return Support::no("the description of " + context_->machine().name + " has no figures for " +
                       std::string(name()));
  }
  for (const auto check :
       {&ModelledMethod::supports_ends, &ModelledMethod::supports_access, &ModelledMethod::supports_route}) {
    if (const Support answer = (this->*check)(flow); !answer) return answer;
  }
  if (quantity_of(flow) == Quantity::latency && latency(flow) <= 0) {
    return Support::no("the description of " + context_->machine().name + " gives no latency for this path");
  }
  return Support::yes();
}

const MachineMethod* ModelledMethod::figures() const {
  const MachineMethod* own = context_->method(name());
  return own == nullptr && !row_.like.empty() ? context_->method(row_.like) : own;
}

Support ModelledMethod::supports_ends(const Flow& flow) const {
  const std::string own(name());
  if (needs_source(row_.motion) != flow.source.has_value()) {
    return Support::no(own + (flow.source ? " takes no source" : " needs a source"));
  }
  if (needs_destination(row_.motion) != flow.destination.has_value()) {
    return Support::no(own + (flow.destination ? " takes no destination" : " needs a destination"));
  }
  const bool on_gpu = flow.executor.kind == DeviceKind::gpu;
  if (row_.driver != Driver::either && on_gpu != (row_.driver == Driver::gpu)) {
    return Support::no(own + " is not driven by " + flow.executor.text());
  }
  const RouteEnds path = ends(flow);
  if (on_gpu && flow.executor != path.from && flow.executor != path.to) {
    return Support::no("a way over a third device, " + flow.executor.text() + ", is not modelled");
  }
  for (const DeviceId id : {flow.executor, path.from, path.to}) {
    if (context_->device(id) == nullptr)
      return Support::no(context_->machine().name + " has no " + id.text());
  }
  if (row_.motion == Motion::chase && !context_->device(flow.source->device)->memory_latency_ns) {
    return Support::no("the description of " + context_->machine().name + " gives no memory latency for " +
                       flow.source->device.text());
  }
  return Support::yes();
}

Support ModelledMethod::supports_access(const Flow& flow) const {
  if (flow.executor.kind != DeviceKind::gpu) return Support::yes();
  if (flow.parameters.word("peer_access", "on") == "off") {
    return Support::no("copies without peer access go through staging buffers, which are not modelled");
  }
  for (const auto* end : {&flow.source, &flow.destination}) {
    if (!*end) continue;
    const Endpoint& where = **end;
    if (where.traits.system_pages) {
      return Support::no("staging of " + where.memory + " memory for a GPU is not modelled");
    }
    if (where.device.kind == DeviceKind::gpu && !context_->peers(flow.executor, where.device)) {
      return Support::no(flow.executor.text() + " has no peer access to " + where.device.text());
    }
  }
  return Support::yes();
}

Support ModelledMethod::supports_route(const Flow& flow) const {
  const RouteEnds path = ends(flow);
  if (path.from != path.to && flow.route.empty()) {
    return Support::no("the plan gives no route from " + path.from.text() + " to " + path.to.text());
  }
  for (const std::string& link : route(flow)) {
    if (context_->link(link) == nullptr)
      return Support::no(context_->machine().name + " has no link " + link);
    if (row_.motion == Motion::exchange && context_->link(opposite(link)) == nullptr) {
      return Support::no(context_->machine().name + " has no link " + opposite(link));
    }
  }
  return Support::yes();
}

ModelledMethod::RouteEnds ModelledMethod::ends(const Flow& flow) const {
  return {needs_source(row_.motion) ? flow.source->device : flow.executor,
          needs_destination(row_.motion) ? flow.destination->device : flow.executor};
}

std::vector<std::string> ModelledMethod::route(const Flow& flow) const {
  const RouteEnds path = ends(flow);
  return path.from == path.to ? std::vector<std::string>{} : flow.route;
}

BandwidthDemand ModelledMethod::demand(const Flow& flow) const {
  const MachineMethod& method = *figures();
  const bool both_ways = row_.motion == Motion::exchange;
  const double byte = 1 / method.efficiency;
  BandwidthDemand demand;
  for (const std::string& link : route(flow)) {
    demand.uses.push_back({context_->resource_of(link), both_ways ? byte / 2 : byte});
    if (both_ways) demand.uses.push_back({context_->resource_of(opposite(link)), byte / 2});
  }
  if (flow.source) demand.uses.push_back({context_->memory_of(flow.source->device), byte});
  if (flow.destination) demand.uses.push_back({context_->memory_of(flow.destination->device), byte});
  const auto threads = row_.driver == Driver::cpu ? flow.parameters.number("threads", 1) : 1;
  demand.ceiling = method.ceiling_gbps * 1e9 * static_cast<double>(threads);
  return demand;
}

Seconds ModelledMethod::latency(const Flow& flow) const {
  double links_ns = 0;
  for (const std::string& link : route(flow)) links_ns += context_->link(link)->latency_ns;
  const double method_ns = figures()->latency_us * 1e3;
  if (row_.motion != Motion::chase) return (method_ns + links_ns) * 1e-9;
  return (method_ns + *context_->device(flow.source->device)->memory_latency_ns + 2 * links_ns) * 1e-9;
}

std::uint64_t ModelledMethod::operations(const Flow& flow) const {
  if (row_.motion != Motion::chase) return 1;
  const std::int64_t hops = flow.parameters.number("hops", default_hops);
  if (hops < 1) throw Error(Fault::bad_input, "hops must be at least 1");
  return static_cast<std::uint64_t>(hops);
}

std::unique_ptr<Transfer> ModelledMethod::prepare(const Flow& flow, const Arenas& arenas) const {
  const std::uint64_t count = operations(flow);
  LaneWork work;
  work.latency = latency(flow) * static_cast<double>(count);
  work.role = flow.role;
  if (quantity_of(flow) == Quantity::bandwidth) {
    work.bytes = flow.bytes;
    work.demand = demand(flow);
  }
  return std::make_unique<ModelledTransfer>(
      std::move(work), count, flow.bytes, make_payload(row_.motion, arenas, flow.bytes), injection_of(flow));
}

}  // namespace linkscope::modelled
