// Support checks, memory, measurement and the meaning of faults, case by case.
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
#include "model/pattern.hpp"
#include "run/lookup.hpp"
#include "run/remote_transfer.hpp"
#include "run/row.hpp"

namespace linkscope {
namespace {

constexpr Bytes vector_bytes = 16;               // what GPUs' threads move at a time, aligned
constexpr Bytes largest_flow = Bytes{1} << 48U;  // beyond any machine's memory, far from overflow
constexpr double share_of_available = 0.9;
constexpr const char* one_slot_note = "repeats one slot: caches may serve it";

Bytes host_limit(const Plan& plan) {
  if (plan.memory_limit_bytes > 0) return plan.memory_limit_bytes;
  const auto room = host::MemoryRoom::now();
  return room ? static_cast<Bytes>(share_of_available * static_cast<double>(*room))
              : std::numeric_limits<Bytes>::max();
}

/// A modelled buffer is real for a small window only, whatever its size: nothing to count.
TakesHostMemory takes_host_memory(const Plan& plan) {
  if (plan.backend == BackendKind::modelled) return [](const Endpoint&) { return false; };
  return [](const Endpoint& where) { return where.device.kind == DeviceKind::numa; };
}

/// Slots of whole vectors (below that, words) touch, so that one pass checks them all; none starts inside a vector.
Bytes in_units(Bytes bytes) {
  const Bytes unit = bytes < vector_bytes ? word_bytes : vector_bytes;
  return (bytes + unit - 1) / unit * unit;
}

Rotation rotation_of(const Method& method, const Flow& flow, Cache cache) {
  const Bytes bytes = method.footprint(flow);
  if (std::max(bytes, flow.bytes) > largest_flow)
    throw Error(Fault::no_memory,
                format_bytes(std::max(bytes, flow.bytes)) + " are more than any machine holds");
  if (bytes == 0) return {0, 1};
  if (cache != Cache::rotated) return {in_units(bytes), 1};
  const Bytes stride = in_units(method.slot_stride(flow));
  return {stride, std::max<Bytes>(1, (method.rotation_bytes(flow) + stride - 1) / stride)};
}

/// Whether a rotated flow of the method stays on one slot whatever its size: a graph's, a direct collective's.
bool repeats_one_slot(const Method& method, const Flow& flow, Cache cache) {
  return cache == Cache::rotated && method.footprint(flow) > 0 && method.rotation_bytes(flow) == 0;
}

/// What holds all slots of a rotation, the last one's whole footprint included.
Bytes arena_bytes(const Rotation& rotation, Bytes footprint) {
  if (footprint == 0) return 0;
  return (rotation.slots - 1) * rotation.stride + std::max(rotation.stride, in_units(footprint));
}

std::vector<const Endpoint*> ends_of(const Flow& flow) {
  std::vector<const Endpoint*> ends;
  if (flow.source) ends.push_back(&*flow.source);
  if (flow.destination) ends.push_back(&*flow.destination);
  for (const Endpoint& member : flow.members) ends.push_back(&member);
  return ends;
}

/// The largest rank that a flow names.
int highest_rank(const Flow& flow) {
  int highest = flow.rank;
  for (const Endpoint* end : ends_of(flow)) highest = std::max(highest, end->rank);
  return highest;
}

void check_flow_names(const Backend& backend, const Flow& flow, const std::string& place) {
  const Method* method = find_method(backend, flow.method);
  if (method == nullptr) {
    throw Error(Fault::bad_input,
                place + ": method: unknown '" + flow.method + "', this engine has " + method_names(backend));
  }
  for (const Endpoint* end : ends_of(flow)) {
    if (find_memory(backend, end->memory) != nullptr) continue;
    throw Error(Fault::bad_input,
                place + ": memory: unknown '" + end->memory + "', this engine has " + memory_names(backend));
  }
  if (flow.bytes == 0 && method->reach() == Reach::process)
    throw Error(Fault::bad_input, place + ": bytes: must be at least 1 for " + flow.method);
  const auto known = method->parameters();
  for (const auto& [name, value] : flow.parameters.all()) {
    if (!known.contains(name)) {
      throw Error(Fault::bad_input,
                  place + ": parameters." + name + ": " + flow.method + " has no such parameter");
    }
  }
}

}  // namespace

void check_names(const Backend& backend, const Plan& plan) {
  for (const PlannedCase& planned : plan.cases) {
    for (std::size_t i = 0; i < planned.wanted.flows.size(); ++i) {
      check_flow_names(backend, planned.wanted.flows[i],
                       "case '" + planned.wanted.id + "': flows[" + std::to_string(i) + "]");
    }
  }
}

Executor::Executor(const Backend& backend, const Plan& plan, const Environment& environment,
                   ProcessGroup& group, JsonLines& out)
    : backend_(&backend),
      plan_(&plan),
      out_(&out),
      consensus_(group),
      group_gate_(*backend.gate, consensus_),
      gate_(backend.gate.get()),
      pool_(backend, host_limit(plan), takes_host_memory(plan)),
      session_{plan.sampling, steady_seconds, SeedSource(environment.first_seed), {}} {
  check_names(backend, plan);
  if (group.size() == 1) return;
  gate_ = &group_gate_;
  session_.now = [this] { return group_gate_.agreed_now(); };
  session_.collective_try = [this](const std::function<void()>& step) { consensus_.collective_try(step); };
  session_.poll = [this](const std::function<std::string()>& say) { return consensus_.allgather(say); };
}

Health Executor::run() {
  out_->write(hello_record(*backend_));
  for (const PlannedCase& planned : plan_->cases) {
    if (run_case(planned) == Health::lost) return Health::lost;
  }
  if (backend_->finalize) backend_->finalize();
  out_->write(done_record(plan_->cases.size()));
  return Health::sound;
}

/// Runs one case and writes its row, whatever happens.
Health Executor::run_case(const PlannedCase& planned) {
  out_->write(start_record(planned.wanted.id));
  RowFrame frame{planned, *backend_, std::chrono::system_clock::now(), 0};
  const Seconds begin = steady_seconds();
  Json row;
  Health health = Health::sound;
  try {
    const CaseResult result = measure(planned.wanted);
    frame.elapsed = steady_seconds() - begin;
    row = ok_row(frame, result);
  } catch (const Error& error) {
    const bool cannot = error.fault() == Fault::unsupported || error.fault() == Fault::no_memory;
    frame.elapsed = steady_seconds() - begin;
    row = failure_row(frame, cannot ? FailureKind::skipped : FailureKind::failed, error.what(),
                      causes_of(error));
    if (error.fault() == Fault::fatal) health = Health::lost;
  } catch (const std::bad_alloc&) {
    frame.elapsed = steady_seconds() - begin;
    row = failure_row(frame, FailureKind::skipped, "not enough host memory for the engine's own data");
  } catch (const std::exception& error) {
    frame.elapsed = steady_seconds() - begin;
    row = failure_row(frame, FailureKind::failed, error.what());
  }
  out_->write(is_first() ? row : end_record(planned.wanted.id));
  return health;
}

CaseResult Executor::measure(const Case& wanted) {
  consensus_.collective_try([&] {
    for (const Flow& flow : wanted.flows) {
      const Support support = supports(flow);
      if (!support) throw Error(Fault::unsupported, support.reason());
    }
  });
  std::vector<AssembledFlow> prepared;
  std::vector<MeasuredFlow> participants;
  for (const Flow& flow : wanted.flows) {
    const Method& method = *find_method(*backend_, flow.method);
    const std::vector<FlowPart> parts = method.parts(flow);
    prepared.push_back(prepare(flow, parts, wanted.regime.cache));
    MeasuredFlow one{{}, flow.bytes, flow.role, method.quantity_of(flow), flow.tuning_group, {}};
    for (std::size_t i = 0; i < parts.size(); ++i)
      one.parts.push_back({prepared.back().parts[i], parts[i].timing});
    if (plan_->backend != BackendKind::modelled && repeats_one_slot(method, flow, wanted.regime.cache))
      one.notes.emplace_back(one_slot_note);
    participants.push_back(std::move(one));
  }
  return measure_case(session_, *gate_, participants, wanted.regime);
}

Support Executor::supports(const Flow& flow) const {
  const Method& method = *find_method(*backend_, flow.method);
  const int processes = consensus_.group().size();
  if (highest_rank(flow) >= processes) {
    return Support::no("it needs " + std::to_string(highest_rank(flow) + 1) + " processes, this run has " +
                       std::to_string(processes));
  }
  const Support available = method.available();
  if (!available) return Support::no(flow.method + ": " + available.reason());
  for (const Endpoint* end : ends_of(flow)) {
    if (end->rank != consensus_.group().rank()) continue;
    if (const Support lies = supports(*end); !lies) return lies;
    if (const Support allowed = find_memory(*backend_, end->memory)->allows(flow); !allowed) return allowed;
  }
  if (flow.rank == consensus_.group().rank() && find_device(*backend_, flow.executor) == nullptr)
    return Support::no("there is no " + flow.executor.text() + " here");
  return method.supports(flow);
}

Support Executor::supports(const Endpoint& where) const {
  const Memory& memory = *find_memory(*backend_, where.memory);
  const Support available = memory.available();
  if (!available) return Support::no(where.memory + " memory: " + available.reason());
  for (const DeviceId device : {where.device, where.first_touch}) {
    if (find_device(*backend_, device) == nullptr)
      return Support::no("there is no " + device.text() + " here");
  }
  if (!where.advice.empty() && !memory.takes_advice())
    return Support::no(where.memory + " memory takes no advice: that is for managed memory");
  return memory.supports(where);
}

/// Arenas of every part that lies in this process.
std::vector<LocalPart> Executor::own_parts(const Flow& flow, const std::vector<FlowPart>& parts, Cache cache,
                                           AssembledFlow& prepared) {
  const Method& method = *find_method(*backend_, flow.method);
  const Rotation rotation = rotation_of(method, flow, cache);
  const Bytes bytes = arena_bytes(rotation, method.footprint(flow));
  const auto arena = [&](const std::optional<Endpoint>& end) -> Buffer* {
    if (!end || bytes == 0) return nullptr;
    prepared.leases.push_back(pool_.acquire(*end, bytes));
    return &prepared.leases.back().buffer();
  };
  std::vector<LocalPart> own;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].rank != consensus_.group().rank()) continue;
    own.push_back({i, {arena(parts[i].source), arena(parts[i].destination), rotation}});
  }
  return own;
}

/// Lets the processes know of one another's parts, and stands in for those that lie elsewhere.
void Executor::connect(const std::vector<FlowPart>& parts, AssembledFlow& prepared) {
  const std::vector<std::string> exports =
      consensus_.allgather([&] { return prepared.local_parts->export_handles(); });
  const std::vector<Json> facts = consensus_.allgather_json([&]() -> Json {
    prepared.local_parts->import_handles(exports);
    Json own = Json::array();
    for (const Transfer* transfer : prepared.local_parts->transfers()) {
      const Support accepted = backend_->gate->accepts(*transfer);
      if (!accepted) throw Error(Fault::unsupported, accepted.reason());
      own.push_back(consensus_.group().size() == 1 ? Json() : statement_of(*transfer));
    }
    return own;
  });
  std::vector<std::size_t> next(facts.size(), 0);  // part of each process
  for (const FlowPart& part : parts) {
    const std::size_t ordinal = next.at(static_cast<std::size_t>(part.rank))++;
    if (part.rank == consensus_.group().rank()) {
      prepared.parts.push_back(prepared.local_parts->transfers().at(ordinal));
    } else {
      prepared.elsewhere.push_back(
          std::make_unique<RemoteTransfer>(facts[static_cast<std::size_t>(part.rank)].at(ordinal)));
      prepared.parts.push_back(prepared.elsewhere.back().get());
    }
  }
}

Executor::AssembledFlow Executor::prepare(const Flow& flow, const std::vector<FlowPart>& parts, Cache cache) {
  const Method& method = *find_method(*backend_, flow.method);
  AssembledFlow prepared;
  std::vector<LocalPart> own;
  consensus_.collective_try([&] { own = own_parts(flow, parts, cache, prepared); });
  // To assemble may be collective (the first flow of MPI starts MPI): not before all have their memory.
  consensus_.collective_try([&] {
    if (own.empty() && method.reach() == Reach::process) {
      prepared.local_parts = std::make_unique<NoParts>();
      return;
    }
    try {
      prepared.local_parts = method.assemble(flow, own);
    } catch (const Error& error) {
      if (error.fault() != Fault::no_memory) throw;
      pool_.evict_unused();  // what earlier cases left there may be in the way
      prepared.local_parts = method.assemble(flow, own);
    }
  });
  connect(parts, prepared);
  return prepared;
}

}  // namespace linkscope
