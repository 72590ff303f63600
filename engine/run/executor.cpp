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
#include "run/lookup.hpp"
#include "run/row.hpp"

namespace linkscope {
namespace {

constexpr Bytes word_bytes = 8;
constexpr Bytes vector_bytes = 16;               // what GPUs' threads move at a time, aligned
constexpr Bytes largest_flow = Bytes{1} << 48U;  // beyond any machine's memory, far from overflow
constexpr double share_of_available = 0.9;

Seconds steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
Rotation rotation_of(const Method& method, const Flow& flow, Cache cache) {
  const Bytes bytes = method.footprint(flow);
  if (std::max(bytes, flow.bytes) > largest_flow)
    throw Error(Fault::no_memory,
                format_bytes(std::max(bytes, flow.bytes)) + " are more than any machine holds");
  const Bytes unit = bytes < vector_bytes ? word_bytes : vector_bytes;
  Rotation rotation;
  rotation.stride = (bytes + unit - 1) / unit * unit;
  if (bytes == 0) return rotation;
  if (cache == Cache::rotated) {
    const Bytes through = method.rotation_bytes(flow);
    rotation.slots = std::max<Bytes>(1, (through + rotation.stride - 1) / rotation.stride);
  }
  return rotation;
}

std::vector<const Endpoint*> ends_of(const Flow& flow) {
  std::vector<const Endpoint*> ends;
  if (flow.source) ends.push_back(&*flow.source);
  if (flow.destination) ends.push_back(&*flow.destination);
  return ends;
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

Executor::Executor(const Backend& backend, const Plan& plan, const Environment& environment, JsonLines& out)
    : backend_(&backend),
      plan_(&plan),
      out_(&out),
      pool_(backend, host_limit(plan), takes_host_memory(plan)),
      session_{plan.sampling, steady_seconds, SeedSource(environment.first_seed), {}} {
  check_names(backend, plan);
}

Health Executor::run() {
  out_->write(hello_record(*backend_));
  for (const PlannedCase& planned : plan_->cases) {
    if (run_case(planned) == Health::lost) return Health::lost;
  }
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
    row = failure_row(frame, cannot ? Failure::skipped : Failure::failed, error.what());
    if (error.fault() == Fault::fatal) health = Health::lost;
  } catch (const std::bad_alloc&) {
    frame.elapsed = steady_seconds() - begin;
    row = failure_row(frame, Failure::skipped, "not enough host memory for the engine's own data");
  } catch (const std::exception& error) {
    frame.elapsed = steady_seconds() - begin;
    row = failure_row(frame, Failure::failed, error.what());
  }
  out_->write(row);
  return health;
}

CaseResult Executor::measure(const Case& wanted) {
  for (const Flow& flow : wanted.flows) {
    const Support support = supports(flow);
    if (!support) throw Error(Fault::unsupported, support.reason());
  }
  std::vector<PreparedFlow> prepared;
  std::vector<Participant> participants;
  for (const Flow& flow : wanted.flows) {
    prepared.push_back(prepare(flow, wanted.regime.cache));
    Transfer& transfer = *prepared.back().transfer;
    const Support accepted = backend_->gate->accepts(transfer);
    if (!accepted) throw Error(Fault::unsupported, accepted.reason());
    const Quantity quantity = find_method(*backend_, flow.method)->quantity();
    participants.push_back({&transfer, flow.bytes, flow.role, quantity, flow.tuning_group});
  }
  return measure_case(session_, *backend_->gate, participants, wanted.regime);
}

Support Executor::supports(const Flow& flow) const {
  const Method& method = *find_method(*backend_, flow.method);
  const Support available = method.available();
  if (!available) return Support::no(flow.method + ": " + available.reason());
  for (const Endpoint* end : ends_of(flow)) {
    const Support support = supports(*end);
    if (!support) return support;
  }
  if (find_device(*backend_, flow.executor) == nullptr)
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

Executor::PreparedFlow Executor::prepare(const Flow& flow, Cache cache) {
  const Method& method = *find_method(*backend_, flow.method);
  PreparedFlow prepared;
  Arenas arenas;
  arenas.rotation = rotation_of(method, flow, cache);
  const Bytes bytes = arenas.rotation.stride * arenas.rotation.slots;
  const auto arena = [&](const std::optional<Endpoint>& end) -> Buffer* {
    if (!end || bytes == 0) return nullptr;
    prepared.leases.push_back(pool_.acquire(*end, bytes));
    return &prepared.leases.back().buffer();
  };
  arenas.source = arena(flow.source);
  arenas.destination = arena(flow.destination);
  try {
    prepared.transfer = method.prepare(flow, arenas);
  } catch (const Error& error) {
    if (error.fault() != Fault::no_memory) throw;
    pool_.evict_unused();  // what earlier cases left there may be in the way
    prepared.transfer = method.prepare(flow, arenas);
  }
  return prepared;
}

}  // namespace linkscope
