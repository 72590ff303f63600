// Figures, ways and demands of messages, packs, staging copies and collectives.
#include "backend/modelled/schedule_costs.hpp"

#include <algorithm>
#include <cstddef>

#include "backend/modelled/collective_method.hpp"
#include "base/error.hpp"

namespace linkscope::modelled {
namespace {

constexpr std::uint64_t halo_layers = 4;  // two at either side, as applications keep them

template <class Each>
const Each& of_rank(const std::vector<Each>& all, int rank) {
  return all.at(static_cast<std::size_t>(rank));
}

std::map<std::pair<int, int>, std::vector<const StepFigures*>> indexed(
    const std::vector<StepFigures>& steps) {
  std::map<std::pair<int, int>, std::vector<const StepFigures*>> index;
  for (const StepFigures& step : steps) {
    for (const auto& pair : step.pairs) index[pair].push_back(&step);
  }
  return index;
}

const MethodFigures* found(const std::map<std::pair<int, int>, std::vector<const StepFigures*>>& index,
                           std::pair<int, int> ranks, Bytes bytes) {
  const auto steps = index.find(ranks);
  if (steps == index.end()) return nullptr;
  for (const StepFigures* step : steps->second) {
    if (step->from <= bytes && bytes < step->below) return &step->figures;
  }
  return nullptr;
}

std::vector<std::string> links_between(const ModelledContext& context, DeviceId from, DeviceId to) {
  return context.route(from, to).value();
}

BandwidthDemand demand_of(const ModelledContext& context, const MethodFigures& figures, DeviceId from,
                          DeviceId to) {
  if (figures.cached_gbps) return {{}, *figures.cached_gbps * 1e9};
  BandwidthDemand demand;
  const double byte = 1 / figures.efficiency;
  for (const std::string& link : links_between(context, from, to))
    demand.uses.push_back({context.resource_of(link), byte});
  demand.uses.push_back({context.memory_of(from), byte});
  demand.uses.push_back({context.memory_of(to), byte});
  demand.ceiling = figures.ceiling_gbps * 1e9;
  return demand;
}

double links_ns(const ModelledContext& context, DeviceId from, DeviceId to) {
  double sum = 0;
  for (const std::string& link : links_between(context, from, to))
    sum += context.link(link)->latency_ns.value_or(0);
  return sum;
}

/// CloverLeaf's: left and right a launch for each field, bottom and top one for each of its layers.
std::uint64_t launches_of(const Phase& phase) {
  if (!phase.halo) return 1;
  const auto fields = static_cast<std::uint64_t>(phase.halo->fields.size());
  return phase.halo->axis == GridAxis::x ? fields : fields * static_cast<std::uint64_t>(phase.halo->depth);
}

BufferStaging staging_of(const Flow& flow) {
  const std::string word = flow.parameters.word("staging", "none");
  if (word == "none") return BufferStaging::none;
  if (word == "full") return BufferStaging::full;
  throw Error(Fault::bad_input, "parameter staging: none or full, not '" + word + "'");
}

}  // namespace

ScheduleCosts::ScheduleCosts(const ModelledContext& context, const ScheduleRow& row, const Flow& flow)
    : context_(&context), row_(&row), flow_(&flow), staging_(staging_of(flow)), buffers_(*flow.schedule) {
  if (flow.schedule_figures == nullptr) return;
  messages_ = indexed(flow.schedule_figures->messages);
  packs_ = indexed(flow.schedule_figures->packs);
  copies_out_ = indexed(flow.schedule_figures->copies_out);
  copies_in_ = indexed(flow.schedule_figures->copies_in);
}

LaneWork ScheduleCosts::message(const Phase& phase, const ScheduledMessage& message) const {
  const MethodFigures& figures = *message_figures(message);
  const DeviceId from = message_end(message.source);
  const DeviceId to = message_end(message.destination);
  const bool packed_on_the_way = unpacks() && !packs();
  const auto more = static_cast<double>(packed_on_the_way ? launches_of(phase) - 1 : 0);
  LaneWork work;
  work.bytes = message.bytes;
  work.latency = (figures.latency_us + more * figures.step_us) * 1e-6 + links_ns(*context_, from, to) * 1e-9;
  work.demand = demand_of(*context_, figures, from, to);
  return work;
}

LaneWork ScheduleCosts::packing(const Phase& phase, int rank, MessageEnd end) const {
  std::vector<Portion> portions;
  for (const ScheduledMessage& message : phase.messages) {
    if ((end == MessageEnd::source ? message.source : message.destination) == rank)
      portions.push_back({message.bytes, launches_of(phase)});
  }
  const DeviceId state = of_rank(flow_->state, rank).device;
  const DeviceId buffers = of_rank(flow_->members, rank).device;
  return end == MessageEnd::source ? own_steps(portions, packs_, rank, state, buffers)
                                   : own_steps(portions, packs_, rank, buffers, state);
}

LaneWork ScheduleCosts::staging(const Phase& phase, int rank, MessageEnd end) const {
  std::vector<Portion> portions;
  for (const ScheduledMessage& message : phase.messages) {
    if ((end == MessageEnd::source ? message.source : message.destination) == rank)
      portions.push_back({buffers_.between(message.source, message.destination)});
  }
  const DeviceId buffers = of_rank(flow_->members, rank).device;
  const DeviceId host = of_rank(flow_->schedule_figures->staged_on, rank);
  return end == MessageEnd::source ? own_steps(portions, copies_out_, rank, buffers, host)
                                   : own_steps(portions, copies_in_, rank, host, buffers);
}

/// One after another: their latencies, then all their bytes, at the rate of the largest.
LaneWork ScheduleCosts::own_steps(const std::vector<Portion>& portions, const StepIndex& index, int rank,
                                  DeviceId from, DeviceId to) const {
  LaneWork work;
  Bytes largest = 0;
  for (const Portion& portion : portions) {
    const MethodFigures& figures = *found(index, {rank, rank}, portion.bytes);
    work.latency +=
        (figures.latency_us + static_cast<double>(portion.launches - 1) * figures.step_us) * 1e-6 +
        links_ns(*context_, from, to) * 1e-9;
    work.bytes += portion.bytes;
    if (portion.bytes <= largest) continue;
    largest = portion.bytes;
    work.demand = demand_of(*context_, figures, from, to);
  }
  return work;
}

Seconds ScheduleCosts::collective(const SmallCollective& what) const {
  const bool barrier = what.count == 0;
  const MethodFigures& figures = flow_->schedule_figures->collectives.at(barrier ? "barrier" : "all-reduce");
  const int ranks = flow_->schedule->ranks;
  double longest_ns = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = rank + 1 == ranks ? 0 : rank + 1;
    longest_ns = std::max(longest_ns, links_ns(*context_, of_rank(flow_->members, rank).device,
                                               of_rank(flow_->members, next).device));
  }
  const CollectiveKind kind = barrier ? CollectiveKind::barrier : CollectiveKind::all_reduce;
  const int steps = steps_of(kind, row_->collectives, ranks);
  return (figures.latency_us * 1e3 + steps * (figures.step_us * 1e3 + longest_ns)) * 1e-9;
}

const MethodFigures* ScheduleCosts::message_figures(const ScheduledMessage& message) const {
  const MethodFigures* own = found(messages_, {message.source, message.destination}, message.bytes);
  return own != nullptr ? own : context_->figures(*flow_);
}

DeviceId ScheduleCosts::message_end(int rank) const {
  return stages() ? of_rank(flow_->schedule_figures->staged_on, rank) : of_rank(flow_->members, rank).device;
}

std::string ScheduleCosts::lacks(const std::string& what) const {
  return "the description of " + context_->machine().name + " has no figures for " + what;
}

Support ScheduleCosts::known() const {
  if (flow_->schedule->ranks < 2) return Support::no("a schedule needs two ranks");
  if (const Support devices = known_devices(); !devices) return devices;
  if (stages() && (flow_->schedule_figures == nullptr || flow_->schedule_figures->staged_on.empty()))
    return Support::no(lacks("host staging"));
  for (const Loop& loop : flow_->schedule->loops) {
    for (const Phase& phase : loop.phases) {
      if (const Support answer = known_phase(phase); !answer) return answer;
    }
  }
  if (const Support answer = known_collectives(); !answer) return answer;
  return enough_memory();
}

Support ScheduleCosts::known_devices() const {
  const auto check = [&](DeviceId id) {
    if (context_->device(id) == nullptr)
      return Support::no(context_->machine().name + " has no " + id.text());
    return Support::yes();
  };
  for (const Endpoint& member : flow_->members) {
    if (const Support answer = check(member.device); !answer) return answer;
    if (row_->driver == Driver::gpu && member.device.kind != DeviceKind::gpu)
      return Support::no("the model of " + flow_->method + " has GPUs alone as ranks, not " +
                         member.device.text());
  }
  for (const Endpoint& state : flow_->state) {
    if (const Support answer = check(state.device); !answer) return answer;
  }
  for (std::size_t i = 0; flow_->schedule_figures && i < flow_->schedule_figures->staged_on.size(); ++i) {
    if (const Support answer = check(flow_->schedule_figures->staged_on[i]); !answer) return answer;
  }
  return Support::yes();
}

Support ScheduleCosts::known_way(DeviceId from, DeviceId to) const {
  const auto route = context_->route(from, to);
  if (!route) return Support::no("the plan gives no route from " + from.text() + " to " + to.text());
  for (const std::string& link : *route) {
    if (context_->link(link) == nullptr)
      return Support::no(context_->machine().name + " has no link " + link);
  }
  return Support::yes();
}

Support ScheduleCosts::known_message(const ScheduledMessage& message) const {
  const DeviceId from = message_end(message.source);
  const DeviceId to = message_end(message.destination);
  const std::string bytes = format_bytes(message.bytes);
  if (message_figures(message) == nullptr)
    return Support::no(lacks(flow_->method + " from " + from.text() + " to " + to.text() + ", " + bytes));
  if (row_->packed == PackedInto::peer_memory && !context_->peers(from, to))
    return Support::no(from.text() + " has no peer access to " + to.text());
  for (const int rank : {message.source, message.destination}) {
    const std::pair<int, int> itself{rank, rank};
    const DeviceId buffers = of_rank(flow_->members, rank).device;
    const bool packed = rank == message.source ? packs() : unpacks();
    if (packed && found(packs_, itself, message.bytes) == nullptr)
      return Support::no(lacks("packing on " + of_rank(flow_->state, rank).device.text()));
    const Bytes full = buffers_.between(message.source, message.destination);
    if (stages() && found(rank == message.source ? copies_out_ : copies_in_, itself, full) == nullptr)
      return Support::no(lacks("copies between " + buffers.text() + " and the host"));
    if (stages()) {
      for (const auto& [a, b] : {std::pair{buffers, message_end(rank)}, {message_end(rank), buffers}}) {
        if (const Support answer = known_way(a, b); !answer) return answer;
      }
    }
    if (!packed) continue;
    const DeviceId state = of_rank(flow_->state, rank).device;
    for (const auto& [a, b] : {std::pair{state, buffers}, {buffers, state}}) {
      if (const Support answer = known_way(a, b); !answer) return answer;
    }
  }
  return known_way(from, to);
}

Support ScheduleCosts::known_phase(const Phase& phase) const {
  for (const ScheduledMessage& message : phase.messages) {
    if (const Support answer = known_message(message); !answer) return answer;
  }
  return Support::yes();
}

Support ScheduleCosts::known_collectives() const {
  const auto known = [&](const std::string& kind) {
    return flow_->schedule_figures != nullptr && flow_->schedule_figures->collectives.contains(kind);
  };
  bool reduces = false;
  bool meets = false;
  for (const Loop& loop : flow_->schedule->loops) {
    for (const Phase& phase : loop.phases) {
      reduces = reduces || phase.termination != Termination::none;
      for (const SmallCollective& what : phase.collectives) (what.count == 0 ? meets : reduces) = true;
    }
  }
  if (reduces && !known("all-reduce")) return Support::no(lacks("the all-reduces of " + flow_->method));
  if (meets && !known("barrier")) return Support::no(lacks("the barriers of " + flow_->method));
  for (int rank = 0; (reduces || meets) && rank < flow_->schedule->ranks; ++rank) {
    const int next = rank + 1 == flow_->schedule->ranks ? 0 : rank + 1;
    const Support answer =
        known_way(of_rank(flow_->members, rank).device, of_rank(flow_->members, next).device);
    if (!answer) return answer;
  }
  return Support::yes();
}

/// Fields, particles and buffers of all ranks on a device at once.
Support ScheduleCosts::enough_memory() const {
  const Schedule& schedule = *flow_->schedule;
  std::map<DeviceId, Bytes> held;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    held[of_rank(flow_->members, rank).device] += buffers_.sent_by(rank) + buffers_.received_by(rank);
    if (flow_->state.empty()) continue;
    Bytes& state = held[of_rank(flow_->state, rank).device];
    if (schedule.particles) state += of_rank(schedule.particles->stock, rank) * particle_bytes;
    if (!schedule.grid) continue;
    const Chunk& chunk = of_rank(schedule.grid->chunks, rank);
    for (const GridField& field : schedule.grid->fields) {
      state += sizeof(double) * (chunk.columns + halo_layers + static_cast<std::uint64_t>(field.extra_x)) *
               (chunk.rows + halo_layers + static_cast<std::uint64_t>(field.extra_y));
    }
  }
  for (const auto& [id, bytes] : held) {
    const Bytes has = context_->device(id)->memory_bytes;
    if (has > 0 && bytes > has)
      return Support::no("the ranks on " + id.text() + " need " + format_bytes(bytes) +
                         " of memory; it has " + format_bytes(has));
  }
  return Support::yes();
}

}  // namespace linkscope::modelled
