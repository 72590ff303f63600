// Measurement and the meaning of faults, case by case.
#include "run/executor.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "backend/host/memory_room.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "comm/cause.hpp"
#include "run/row.hpp"

namespace linkscope {

LINKSCOPE_JSON(Breakdown, parts, phases)

namespace {

constexpr double share_of_available = 0.9;

Bytes host_limit(const Plan& plan) {
  if (plan.memory_limit_bytes > 0) return plan.memory_limit_bytes;
  const auto room = host::MemoryRoom::now();
  return room ? static_cast<Bytes>(share_of_available * static_cast<double>(*room))
              : std::numeric_limits<Bytes>::max();
}

Fault fault_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return Fault::no_memory;
  const auto* known = dynamic_cast<const Error*>(&error);
  return known == nullptr ? Fault::broken : known->fault();
}

std::string words_of(const std::exception& error) {
  const bool own_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return own_memory ? "not enough host memory for the engine's own data" : error.what();
}

Support is_here(const Backend& backend, DeviceId id) {
  const bool found = std::any_of(backend.devices.begin(), backend.devices.end(),
                                 [&](const DeviceFacts& device) { return device.id == id; });
  return found ? Support::yes() : Support::no("there is no " + id.text() + " here");
}

Support supports(const Backend& backend, const Endpoint& where) {
  const Memory& memory = *where.kind;
  const Support available = memory.available();
  if (!available) return Support::no(where.memory + " memory: " + available.reason());
  for (const DeviceId device : {where.device, where.first_touch}) {
    if (const Support here = is_here(backend, device); !here) return here;
  }
  if (!where.advice.empty() && !memory.takes_advice())
    return Support::no(where.memory + " memory takes no advice");
  return memory.supports(where);
}

/// Says whether this process can do its share of a flow: devices may not be here, the run may have too few processes.
Support supports(const Backend& backend, const ProcessGroup& group, const Flow& flow) {
  const std::vector<const Endpoint*> ends = ends_of(flow);
  int highest = flow.rank;
  for (const Endpoint* end : ends) highest = std::max(highest, end->rank);
  if (highest >= group.size()) {
    return Support::no("it needs " + std::to_string(highest + 1) + " processes, this run has " +
                       std::to_string(group.size()));
  }
  const Method& method = method_of(flow);
  const Support available = method.available();
  if (!available) return Support::no(flow.method + ": " + available.reason());
  for (const Endpoint* end : ends) {
    if (end->rank != group.rank()) continue;
    if (const Support lies = supports(backend, *end); !lies) return lies;
    if (const Support allowed = end->kind->allows(flow); !allowed) return allowed;
  }
  if (flow.rank == group.rank()) {
    if (const Support here = is_here(backend, flow.executor); !here) return here;
  }
  return method.supports(flow);
}

}  // namespace

Executor::Executor(const Backend& backend, Plan& plan, const Environment& environment, ProcessGroup& group,
                   JsonLines& out)
    : backend_(&backend),
      out_(&out),
      cases_(&plan.cases),
      group_(&group),
      group_gate_(*backend.gate, group),
      gate_(backend.gate.get()),
      pool_(host_limit(plan)),
      session_{plan.sampling, steady_seconds, environment.first_seed, plan.tuned} {
  bind_names(plan, backend);
  if (group.size() == 1) return;
  gate_ = &group_gate_;
  session_.now = [this] { return group_gate_.agreed_now(); };
  session_.collective_try = [this](const std::function<void()>& step) { group_->collective_try(step); };
  session_.poll = [this](const std::function<std::string()>& say) { return group_->allgather_words(say); };
}

Health Executor::run() {
  out_->write(hello_record(*backend_));
  for (const Case& wanted : *cases_) {
    if (run_case(wanted) == Health::lost) return Health::lost;
  }
  if (backend_->finalize) backend_->finalize();
  out_->write({{"record", "done"}, {"rows", cases_->size()}});
  return Health::sound;
}

/// Runs one case and writes its row, whatever happens.
Health Executor::run_case(const Case& wanted) {
  const std::string& id = wanted.id;
  out_->write({{"record", "start"}, {"id", id}});
  RowFrame frame{id, *backend_, std::chrono::system_clock::now(), 0};
  const Seconds begin = steady_seconds();
  Json row;
  Health health = Health::sound;
  try {
    const CaseResult result = measure(wanted);
    frame.elapsed = steady_seconds() - begin;
    row = ok_row(frame, result);
  } catch (const std::exception& error) {
    frame.elapsed = steady_seconds() - begin;
    row = failure_row(frame, fault_of(error), words_of(error), causes_of(error));
    if (!can_go_on(error)) health = Health::lost;
  }
  out_->write(group_->rank() == 0 ? row : Json{{"record", "end"}, {"id", id}});
  return health;
}

/// What only this process threw leaves it one exchange behind the others, or ahead of them: their next answers would be
/// taken for those to another question. A GroupError is what all have agreed on.
bool Executor::can_go_on(const std::exception& error) const {
  if (fault_of(error) == Fault::fatal) return false;
  return group_->size() == 1 || dynamic_cast<const GroupError*>(&error) != nullptr;
}

CaseResult Executor::measure(const Case& wanted) {
  const Regime& regime = wanted.regime;
  group_->collective_try([&] {
    const auto collectives = std::count_if(wanted.flows.begin(), wanted.flows.end(),
                                           [](const Flow& flow) { return !flow.members.empty(); });
    for (const Flow& flow : wanted.flows) {
      Support support = supports(*backend_, *group_, flow);
      if (support) support = method_of(flow).supports_in(flow, wanted);
      if (support && collectives > 1 && !flow.members.empty() && !method_of(flow).traits().by_xccl)
        support = Support::no("collectives at once need a communicator each, which NCCL and RCCL alone have");
      if (!support) throw Error(Fault::unsupported, support.reason());
    }
  });
  if (backend_->free_retired) backend_->free_retired();
  std::vector<AssembledFlow> assembled;
  std::vector<MeasuredFlow> measured;
  for (const Flow& flow : wanted.flows) {
    const Method& method = method_of(flow);
    assembled.push_back(assemble(flow, regime, *backend_->gate, *group_, pool_));
    measured.push_back({assembled.back().parts,
                        flow.bytes,
                        flow.role,
                        method.quantity(flow),
                        flow.tuning_group,
                        {},
                        method.traits().schedules ? PartsTime::longest : PartsTime::mean});
    // A graph, a direct collective: such a flow stays on one slot whatever its size.
    if (regime.cache == Cache::rotated && method.footprint(flow) > 0 && method.rotation_bytes(flow) == 0)
      measured.back().notes.emplace_back("repeats one slot: caches may serve it");
  }
  CaseResult result = measure_case(session_, *gate_, measured, regime);
  for (std::size_t i = 0; i < assembled.size(); ++i) {
    if (wanted.flows[i].row->traits().schedules) result.flows[i].breakdown = breakdown_of(assembled[i]);
  }
  // Other processes map this one's memory (IPC). All let go of it before any frees it: the pool frees in later cases,
  // each of which begins with a collective step, and after the last one the process ends.
  group_->collective_try([&] {
    for (const AssembledFlow& flow : assembled) flow.local_parts->finish();
    assembled.clear();
  });
  return result;
}

/// By part, from the processes that have them: a collective call.
std::vector<Breakdown> Executor::breakdown_of(const AssembledFlow& flow) {
  const std::vector<Json> all = group_->allgather_json([&] {
    Json own = Json::object();
    for (std::size_t part = 0; part < flow.parts.size(); ++part) {
      const auto told = flow.parts[part].transfer->breakdown();
      if (told) own[std::to_string(part)] = *told;
    }
    return own;
  });
  std::vector<Breakdown> breakdown(flow.parts.size());
  for (const Json& own : all) {
    for (const auto& [part, told] : own.items()) breakdown.at(std::stoul(part)) = told.get<Breakdown>();
  }
  return breakdown;
}

}  // namespace linkscope
