#include "backend/modelled/method.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"

namespace linkscope::modelled {
namespace {

constexpr std::int64_t default_hops = 10000;

bool needs_source(Motion shape) { return shape != Motion::write; }
bool needs_destination(Motion shape) { return shape != Motion::read && shape != Motion::chase; }

/// A row's "name" or "name=value".
struct TakenParameter {
  std::string name;
  std::string value;  ///< empty: any

  explicit TakenParameter(std::string_view text)
      : name(text.substr(0, text.find('='))),
        value(text.find('=') == std::string_view::npos ? "" : text.substr(text.find('=') + 1)) {}
};

/// Of STREAM's loop: arrays that it loads per array that it stores.
double arrays_read(const Flow& flow) {
  const std::string word = flow.parameters.word("operation", "copy");
  if (word == "copy" || word == "scale") return 1;
  if (word == "add" || word == "triad") return 2;
  throw Error(Fault::bad_input, "parameter operation: copy, scale, add or triad");
}

std::vector<std::string> way_back(const std::vector<std::string>& route) {
  std::vector<std::string> back;
  std::transform(route.rbegin(), route.rend(), std::back_inserter(back), opposite);
  return back;
}

}  // namespace

std::map<std::string, std::string> ModelledMethod::parameters() const {
  std::map<std::string, std::string> known{{"inject", "crash, hang, corrupt or error: a fault to test with"}};
  for (const std::string_view text : row_.taken) {
    if (text.empty()) continue;
    const TakenParameter taken(text);
    known[taken.name] = taken.value.empty() ? "accepted; makes no difference to the model"
                                            : taken.value + "; no other value is modelled";
  }
  if (row_.motion == Motion::stream) known["operation"] = "copy (default), scale, add or triad";
  if (row_.motion == Motion::chase) known["hops"] = "dependent loads in one transfer (10000)";
  if (row_.driver == Driver::cpu) known["threads"] = "copying threads; the ceiling is per thread (1)";
  return known;
}

Support ModelledMethod::supports(const Flow& flow) const {
  if (context_->figures(flow) == nullptr) {
    return Support::no("the description of " + context_->machine().name + " has no figures for " +
                       std::string(name()));
  }
  for (const auto check :
       {&ModelledMethod::supports_parameters, &ModelledMethod::supports_ends,
        &ModelledMethod::supports_access, &ModelledMethod::supports_route, &ModelledMethod::supports_load}) {
    if (const Support answer = (this->*check)(flow); !answer) return answer;
  }
  if (quantity_of(flow) == Quantity::latency && latency(flow) <= 0) {
    return Support::no("the description of " + context_->machine().name + " gives no latency for this path");
  }
  return Support::yes();
}

Support ModelledMethod::supports_parameters(const Flow& flow) const {
  for (const std::string_view text : row_.taken) {
    const TakenParameter taken(text);
    if (context_->figures(flow)->settled.contains(taken.name)) continue;
    const std::string asked = flow.parameters.word(taken.name, taken.value);
    if (!taken.value.empty() && asked != taken.value)
      return Support::no("the model has no " + taken.name + ": " + asked);
  }
  return Support::yes();
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
  if (on_gpu && row_.motion != Motion::stream && path.from == path.to && flow.executor != path.from)
    return Support::no("a way over a third device, " + flow.executor.text() + ", is not modelled");
  for (const DeviceId id : {flow.executor, path.from, path.to}) {
    if (context_->device(id) == nullptr)
      return Support::no(context_->machine().name + " has no " + id.text());
  }
  return Support::yes();
}

/// A load's time is that of its memory and of every link on the way, so each must be known.
Support ModelledMethod::supports_load(const Flow& flow) const {
  if (row_.motion != Motion::chase || context_->figures(flow)->load_ns) return Support::yes();
  const std::string lacks = "the description of " + context_->machine().name + " gives no latency for ";
  if (!context_->device(flow.source->device)->memory_latency_ns)
    return Support::no(lacks + "the memory of " + flow.source->device.text());
  const Leg way = legs(flow).front();
  for (const std::string& link : way.links) {
    if (!context_->link(link)->latency_ns) return Support::no(lacks + "loads over link " + link);
  }
  return Support::yes();
}

Support ModelledMethod::supports_access(const Flow& flow) const {
  if (flow.executor.kind != DeviceKind::gpu) return Support::yes();
  for (const auto* end : {&flow.source, &flow.destination}) {
    if (!*end) continue;
    const Endpoint& where = **end;
    if (where.device.kind == DeviceKind::gpu && !context_->peers(flow.executor, where.device)) {
      return Support::no(flow.executor.text() + " has no peer access to " + where.device.text());
    }
  }
  return Support::yes();
}

Support ModelledMethod::supports_route(const Flow& flow) const {
  const RouteEnds path = ends(flow);
  const bool apart = path.from != path.to || (row_.motion == Motion::stream && flow.executor != path.from);
  if (apart && flow.route.empty()) {
    const DeviceId to = path.from == path.to ? flow.executor : path.to;
    return Support::no("the plan gives no route from " + path.from.text() + " to " + to.text());
  }
  for (const Leg& leg : legs(flow)) {
    for (const std::string& link : leg.links) {
      if (context_->link(link) == nullptr)
        return Support::no(context_->machine().name + " has no link " + link);
    }
  }
  return Support::yes();
}

ModelledMethod::RouteEnds ModelledMethod::ends(const Flow& flow) const {
  return {needs_source(row_.motion) ? flow.source->device : flow.executor,
          needs_destination(row_.motion) ? flow.destination->device : flow.executor};
}

std::vector<ModelledMethod::Leg> ModelledMethod::legs(const Flow& flow) const {
  const RouteEnds path = ends(flow);
  if (row_.motion == Motion::stream) {
    const bool loads_far = path.from != flow.executor;
    const bool stores_far = path.to != flow.executor;
    return {{loads_far ? flow.route : std::vector<std::string>{}, arrays_read(flow)},
            {!stores_far ? std::vector<std::string>{}
             : loads_far ? way_back(flow.route)
                         : flow.route}};
  }
  const auto there = path.from == path.to ? std::vector<std::string>{} : flow.route;
  if (row_.motion == Motion::exchange) return {{there, 0.5}, {way_back(there), 0.5}};
  return {{there}};
}

BandwidthDemand ModelledMethod::demand(const Flow& flow) const {
  const MethodFigures& figures = *context_->figures(flow);
  const double byte = 1 / figures.efficiency;
  BandwidthDemand demand;
  if (figures.cached_gbps) {
    demand.ceiling = *figures.cached_gbps * 1e9;
    return demand;
  }
  for (const Leg& leg : legs(flow)) {
    for (const std::string& link : leg.links)
      demand.uses.push_back({context_->resource_of(link), byte * leg.share});
  }
  const double loads = row_.motion == Motion::stream ? arrays_read(flow) : 1;
  if (flow.source) demand.uses.push_back({context_->memory_of(flow.source->device), byte * loads});
  if (flow.destination) demand.uses.push_back({context_->memory_of(flow.destination->device), byte});
  const bool scales = row_.driver == Driver::cpu && !figures.settled.contains("threads");
  const auto threads = scales ? flow.parameters.number("threads", 1) : 1;
  demand.ceiling = figures.ceiling_gbps * 1e9 * static_cast<double>(threads);
  return demand;
}

Seconds ModelledMethod::latency(const Flow& flow) const {
  const MethodFigures& figures = *context_->figures(flow);
  const bool chase = row_.motion == Motion::chase;
  if (chase && figures.load_ns) return (figures.latency_us * 1e3 + *figures.load_ns) * 1e-9;
  if (figures.cached_gbps) return figures.latency_us * 1e-6;
  double links_ns = 0;
  const Leg way = legs(flow).front();
  for (const std::string& link : way.links) links_ns += context_->link(link)->latency_ns.value_or(0);
  const double memory_ns =
      chase ? context_->device(flow.source->device)->memory_latency_ns.value_or(0) + links_ns : 0;
  return (figures.latency_us * 1e3 + memory_ns + links_ns) * 1e-9;
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
  auto transfer = std::make_unique<ModelledTransfer>(
      std::move(work), count, make_payload(row_.motion, arenas, flow.bytes), injection_of(flow));
  if (row_.motion == Motion::stream)
    transfer->touches((static_cast<Bytes>(arrays_read(flow)) + 1) * flow.bytes);
  return transfer;
}

}  // namespace linkscope::modelled
