#include "run/schedule_field.hpp"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "run/fields.hpp"

namespace linkscope {
namespace {

constexpr Bytes largest_message = Bytes{1} << 50U;

std::string entry(const std::string& place, const std::string& name, std::size_t index) {
  return place + "." + name + "[" + std::to_string(index) + "]";
}

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
  halo.axis = fields.word("axis", {"x", "y"}) == "x" ? GridAxis::x : GridAxis::y;
  fields.finish();
  return halo;
}

SmallCollective read_collective(const Json& json, const std::string& place) {
  Fields fields(json, place);
  SmallCollective one;
  const bool barrier = fields.word("collective", {"all-reduce", "barrier"}) == "barrier";
  const std::string type = fields.word("type", {"int32", "int64", "float64"}, "float64");
  one.type = type == "int32" ? NumberType::int32 : type == "int64" ? NumberType::int64 : NumberType::float64;
  const std::string reduction = fields.word("reduction", {"sum", "min", "max"}, "sum");
  one.reduction = reduction == "sum" ? ReduceOp::sum : reduction == "min" ? ReduceOp::min : ReduceOp::max;
  one.count = read_int(fields.count("count", 1, 1), place);
  if (barrier) one.count = 0;
  fields.finish();
  return one;
}

Termination read_termination(Fields& fields) {
  const std::string word = fields.word("termination", {"none", "blocking", "non-blocking"}, "none");
  if (word == "none") return Termination::none;
  return word == "blocking" ? Termination::blocking : Termination::non_blocking;
}

Phase read_phase(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Phase phase;
  phase.name = fields.text("name", "");
  phase.every = fields.count("every", 1, 1);
  phase.gap_s = fields.number("gap_s", 0);
  if (!(phase.gap_s >= 0 && phase.gap_s <= 3600)) fields.reject("gap_s", "must be 0 to 3600 seconds");
  const Json& messages = fields.array("messages");
  for (std::size_t i = 0; i < messages.size(); ++i)
    phase.messages.push_back(read_message(messages[i], entry(place, "messages", i)));
  if (const Json* halo = fields.find("halo"); halo != nullptr) phase.halo = read_halo(*halo, place + ".halo");
  phase.termination = read_termination(fields);
  if (fields.find("collectives") != nullptr) {
    const Json& collectives = fields.array("collectives");
    for (std::size_t i = 0; i < collectives.size(); ++i)
      phase.collectives.push_back(read_collective(collectives[i], entry(place, "collectives", i)));
  }
  fields.finish();
  return phase;
}

Loop read_loop(const Json& json, const std::string& place) {
  Fields fields(json, place);
  Loop loop;
  loop.repeats = fields.count("repeats", 1, 1);
  const Json& phases = fields.array("phases");
  for (std::size_t i = 0; i < phases.size(); ++i)
    loop.phases.push_back(read_phase(phases[i], entry(place, "phases", i)));
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
  const Json& listed = fields.array("fields");
  for (std::size_t i = 0; i < listed.size(); ++i)
    grid.fields.push_back(read_field(listed[i], entry(place, "fields", i)));
  const Json& chunks = fields.array("chunks");
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::vector<std::uint64_t> four = read_numbers(chunks[i], entry(place, "chunks", i), 4);
    grid.chunks.push_back({four[0], four[1], four[2], four[3]});
  }
  fields.finish();
  return grid;
}

ParticleDeck read_particles(const Json& json, const std::string& place) {
  Fields fields(json, place);
  ParticleDeck deck;
  deck.stock = read_numbers(fields.array("stock"), place + ".stock", 0);
  const Json& neighbours = fields.array("neighbours");
  for (std::size_t i = 0; i < neighbours.size(); ++i)
    deck.neighbours.push_back(read_ints(neighbours[i], entry(place, "neighbours", i)));
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
  const Json& loops = fields.array("loops");
  for (std::size_t i = 0; i < loops.size(); ++i)
    schedule->loops.push_back(read_loop(loops[i], entry(place, "loops", i)));
  if (const Json* grid = fields.find("grid"); grid != nullptr)
    schedule->grid = read_grid(*grid, place + ".grid");
  if (const Json* particles = fields.find("particles"); particles != nullptr)
    schedule->particles = read_particles(*particles, place + ".particles");
  fields.finish();
  try {
    schedule->check();
  } catch (const Error& error) {
    throw Error(error.fault(), place + ": " + error.what());
  }
  return schedule;
}

}  // namespace linkscope
