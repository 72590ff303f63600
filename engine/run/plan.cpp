// Reads plans, strictly: what the schema does not allow is an error, never a guess.
#include "run/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "run/fields.hpp"

namespace linkscope {
namespace {

DeviceId read_device(Fields& fields, const std::string& name,
                     const std::optional<DeviceId>& otherwise = std::nullopt) {
  if (otherwise && fields.find(name) == nullptr) return *otherwise;
  const std::string text = fields.text(name);
  try {
    return DeviceId::parse(text);
  } catch (const Error& error) {
    fields.reject(name, error.what());
  }
}

int read_rank(Fields& fields) { return static_cast<int>(fields.count("rank", 0, 0)); }

Endpoint read_endpoint(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Endpoint endpoint;
  endpoint.device = read_device(fields, "device");
  endpoint.memory = fields.text("memory");
  endpoint.placement = fields.choice<Placement>("placement", {"bound", "first-touch"}, Placement::bound);
  endpoint.first_touch = read_device(fields, "first_touch", endpoint.device);
  endpoint.advice = fields.text("advice", "");
  endpoint.rank = read_rank(fields);
  fields.finish();
  return endpoint;
}

std::vector<Endpoint> read_endpoints(Fields& flow, const std::string& name) {
  return flow.find(name) == nullptr ? std::vector<Endpoint>{} : flow.entries(name, read_endpoint);
}

Parameters read_parameters(Fields& flow) {
  Parameters parameters;
  const Json* json = flow.find("parameters");
  if (json == nullptr) return parameters;
  if (!json->is_object()) flow.reject("parameters", "must be an object");
  for (const auto& [name, value] : json->items()) {
    if (value.is_string()) {
      parameters.set(name, value.get<std::string>());
    } else if (value.is_number_integer()) {
      parameters.set(name, value.dump());
    } else {
      flow.reject("parameters." + name, "must be a whole number or a text");
    }
  }
  return parameters;
}

constexpr Bytes largest_message = Bytes{1} << 50U;

/// An array of `width` whole numbers; of any length where that is 0.
std::vector<std::uint64_t> read_numbers(const Json& json, const std::string& place, std::size_t width) {
  std::vector<std::uint64_t> numbers;
  if (json.is_array()) {
    for (const Json& number : json) {
      if (!number.is_number_unsigned()) break;
      numbers.push_back(number.get<std::uint64_t>());
    }
  }
  if (!json.is_array() || numbers.size() != json.size() || (width > 0 && numbers.size() != width))
    throw Error(Fault::bad_input,
                place + ": must be " + (width > 0 ? std::to_string(width) + " " : "") + "whole numbers");
  return numbers;
}

int read_int(std::uint64_t number, const std::string& place) {
  if (number > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(Fault::bad_input, place + ": a number is too large");
  return static_cast<int>(number);
}

std::vector<int> read_ints(const Json& json, const std::string& place) {
  std::vector<int> numbers;
  for (const std::uint64_t number : read_numbers(json, place, 0)) numbers.push_back(read_int(number, place));
  return numbers;
}

ScheduledMessage read_message(const Json& json, const std::string& place) {
  const std::vector<std::uint64_t> numbers = read_numbers(json, place, 3);
  if (numbers[2] > largest_message) throw Error(Fault::bad_input, place + ": a message is too large");
  return {read_int(numbers[0], place), read_int(numbers[1], place), numbers[2]};
}

HaloExchange read_halo(const Json& json, const std::string& place) {
  Fields fields(json, place);
  HaloExchange halo;
  halo.fields = read_ints(fields.array("fields"), place + ".fields");
  halo.depth = read_int(fields.count("depth", 1), place);
  halo.axis = fields.choice<GridAxis>("axis", {"x", "y"});
  fields.finish();
  return halo;
}

SmallCollective read_collective(const Json& json, const std::string& place) {
  Fields fields(json, place);
  SmallCollective one;
  const bool barrier = fields.choice<bool>("collective", {"all-reduce", "barrier"});
  one.type = fields.choice<NumberType>("type", {"int32", "int64", "float64"}, NumberType::float64);
  one.reduction = fields.choice<ReduceOp>("reduction", {"sum", "min", "max"}, ReduceOp::sum);
  one.count = read_int(fields.count("count", 1, 1), place);
  if (barrier) one.count = 0;
  fields.finish();
  return one;
}

Phase read_phase(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Phase phase;
  phase.name = fields.text("name", "");
  phase.every = fields.count("every", 1, 1);
  phase.gap_s = fields.number("gap_s", 0);
  if (!(phase.gap_s >= 0 && phase.gap_s <= 3600)) fields.reject("gap_s", "must be 0 to 3600 seconds");
  phase.messages = fields.entries("messages", read_message);
  phase.halo = fields.entry("halo", read_halo);
  phase.termination =
      fields.choice<Termination>("termination", {"none", "blocking", "non-blocking"}, Termination::none);
  if (fields.find("collectives") != nullptr)
    phase.collectives = fields.entries("collectives", read_collective);
  fields.finish();
  return phase;
}

Loop read_loop(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Loop loop;
  loop.repeats = fields.count("repeats", 1, 1);
  loop.phases = fields.entries("phases", read_phase);
  fields.finish();
  return loop;
}

GridField read_field(const Json& json, const std::string& place) {
  Fields fields(json, place);
  GridField field;
  field.name = fields.text("name");
  const auto extra = [&](const char* name) {
    const std::uint64_t count = fields.count(name, 0, 0);
    if (count > 1) fields.reject(name, "must be 0 or 1");
    return static_cast<int>(count);
  };
  field.extra_x = extra("extra_x");
  field.extra_y = extra("extra_y");
  fields.finish();
  return field;
}

CellGrid read_grid(const Json& json, const std::string& place) {
  Fields fields(json, place);
  CellGrid grid;
  const std::vector<std::uint64_t> cells = read_numbers(fields.array("cells"), place + ".cells", 2);
  grid.columns = cells[0];
  grid.rows = cells[1];
  grid.fields = fields.entries("fields", read_field);
  grid.chunks = fields.entries("chunks", [](const Json& chunk, const std::string& at) {
    const std::vector<std::uint64_t> four = read_numbers(chunk, at, 4);
    return Chunk{four[0], four[1], four[2], four[3]};
  });
  fields.finish();
  return grid;
}

ParticleDeck read_particles(const Json& json, const std::string& place) {
  Fields fields(json, place);
  ParticleDeck deck;
  deck.stock = read_numbers(fields.array("stock"), place + ".stock", 0);
  deck.neighbours = fields.entries("neighbours", read_ints);
  deck.batch = fields.count("batch", 1);
  fields.finish();
  return deck;
}

/// A checked schedule of `ranks` ranks; `place` names it in errors.
std::shared_ptr<const Schedule> read_schedule(const Json& json, const std::string& place, std::size_t ranks) {
  Fields fields(json, place);
  auto schedule = std::make_shared<Schedule>();
  schedule->ranks = static_cast<int>(ranks);
  schedule->loops = fields.entries("loops", read_loop);
  schedule->grid = fields.entry("grid", read_grid);
  schedule->particles = fields.entry("particles", read_particles);
  fields.finish();
  try {
    schedule->check();
  } catch (const Error& error) {
    throw Error(error.fault(), place + ": " + error.what());
  }
  return schedule;
}

/// A flow alongside is measured: Python alone tells it from the flow that a row's result is of.
Role read_role(Fields& fields) {
  enum class Word { measured, background, alongside };
  const auto word = fields.choice<Word>("role", {"measured", "background", "alongside"}, Word::measured);
  return word == Word::background ? Role::background : Role::measured;
}

Flow read_flow(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Flow flow;
  flow.method = fields.text("method");
  flow.source = fields.entry("source", read_endpoint);
  flow.destination = fields.entry("destination", read_endpoint);
  flow.members = read_endpoints(fields, "members");
  if (!flow.members.empty() && (flow.source || flow.destination))
    fields.reject("members", "exclude source and destination");
  flow.state = read_endpoints(fields, "state");
  if (const Json* schedule = fields.find("schedule"); schedule != nullptr)
    flow.schedule = read_schedule(*schedule, place + ".schedule", flow.members.size());
  if (flow.schedule && !flow.state.empty() && flow.state.size() != flow.members.size())
    fields.reject("state", "must have an entry for each member");
  flow.executor = read_device(fields, "executor");
  flow.rank = read_rank(fields);
  flow.bytes = fields.count("bytes", 0);
  flow.role = read_role(fields);
  flow.parameters = read_parameters(fields);
  flow.tuning_group = fields.text("tuning_group", "");
  fields.finish();
  return flow;
}

double positive(Fields& fields, const std::string& name, double otherwise) {
  const double value = fields.number(name, otherwise);
  if (!(value > 0)) fields.reject(name, "must be more than 0");
  return value;
}

/// "case 'id'" where there is an id, "cases[3]" where not.
std::string case_place(const Json& json, std::size_t index) {
  const auto id = json.is_object() ? json.find("id") : json.end();
  const bool named = json.is_object() && id != json.end() && id->is_string();
  return named ? "case '" + id->get<std::string>() + "'" : "cases[" + std::to_string(index) + "]";
}

Case read_case(const Json& json, std::size_t index) {
  const std::string place = case_place(json, index);
  Fields fields(json, place);
  Case wanted;
  wanted.id = fields.text("id");
  wanted.regime.clock = fields.choice<Clock>("clock", {"device", "host", "batch"});
  wanted.regime.cache = fields.choice<Cache>("cache", {"warm", "rotated", "flushed"}, Cache::rotated);
  wanted.regime.load = fields.choice<Load>("load", {"once", "sustained"}, Load::once);
  wanted.regime.min_sample_s = fields.number("min_sample_s", 0);
  if (wanted.regime.min_sample_s < 0) fields.reject("min_sample_s", "must not be negative");
  wanted.regime.point_budget_s = positive(fields, "point_budget_s", wanted.regime.point_budget_s);
  bool measures = false;
  const Json& flows = fields.array("flows");
  for (std::size_t i = 0; i < flows.size(); ++i) {
    wanted.flows.push_back(read_flow(flows[i], place + ": flows[" + std::to_string(i) + "]"));
    measures = measures || wanted.flows.back().role == Role::measured;
  }
  if (!measures) fields.reject("flows", "must hold at least one measured flow");
  fields.finish();
  return wanted;
}

void read_options(const Json& json, Plan& plan) {
  Fields fields(json, "options");
  SamplingOptions& sampling = plan.sampling;
  sampling.precision = positive(fields, "precision", sampling.precision);
  if (sampling.precision >= 1) fields.reject("precision", "must be below 1 (0.01 is 1 %)");
  sampling.max_samples = fields.count("max_samples", fewest_for_interval, sampling.max_samples);
  sampling.point_budget_s = positive(fields, "point_budget_s", sampling.point_budget_s);
  sampling.min_sample_s = fields.number("min_sample_s", sampling.min_sample_s);
  if (sampling.min_sample_s < 0) fields.reject("min_sample_s", "must not be negative");
  plan.memory_limit_bytes = fields.count("memory_limit_bytes", 0, 0);
  fields.finish();
}

Setting read_setting(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Setting setting;
  for (const auto& [name, value] : json.items())
    setting.emplace_back(name, static_cast<std::int64_t>(fields.count(name, 0)));
  fields.finish();
  return setting;
}

TuningCache read_tuned(Fields& fields) {
  TuningCache tuned;
  if (fields.find("tuned") == nullptr) return tuned;
  for (const auto& [group, setting] : fields.object("tuned").items())
    tuned[group] = {read_setting(setting, "tuned '" + group + "'"), {}, {}};
  return tuned;
}

void check_schema(Fields& fields) {
  const Json* schema = fields.find("schema");
  if (schema == nullptr) fields.reject("schema", "is missing: this is not a linkscope plan");
  if (*schema != schema_number) {
    fields.reject("schema", "is " + schema->dump() + ", this engine reads " + std::to_string(schema_number) +
                                ": plan and engine are of different versions, rebuild the engine");
  }
}

Json parse_json(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(Fault::bad_input, std::string("plan: not JSON: ") + error.what());
  }
}

}  // namespace

Plan parse_plan(const std::string& text) {
  const Json json = parse_json(text);
  Fields fields(json, "plan");
  check_schema(fields);
  Plan plan;
  read_options(fields.object("options"), plan);
  plan.tuned = read_tuned(fields);
  const Json& cases = fields.array("cases");
  std::set<std::string> ids;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    plan.cases.push_back(read_case(cases[i], i));
    if (!ids.insert(plan.cases.back().id).second) {
      throw Error(Fault::bad_input, case_place(cases[i], i) + ": id: stands in the plan twice");
    }
  }
  fields.finish();
  return plan;
}

std::size_t widest_load(const Plan& plan) {
  std::size_t widest = 0;
  for (const Case& wanted : plan.cases) {
    std::map<DeviceId, std::size_t> driven;
    for (const Flow& flow : wanted.flows) widest = std::max(widest, ++driven[flow.executor]);
  }
  return widest;
}

}  // namespace linkscope
