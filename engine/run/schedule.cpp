// Reads the schedule of a flow (schema/plan.schema.json: schedule).
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "run/fields.hpp"
#include "run/plan.hpp"

namespace linkscope {
namespace {

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

}  // namespace

std::shared_ptr<const Schedule> parse_schedule(const Json& json, const std::string& place,
                                               std::size_t ranks) {
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

}  // namespace linkscope
