#include "run/schedule_figures_field.hpp"

#include <array>
#include <cstdint>

#include "base/error.hpp"
#include "run/described_machine.hpp"
#include "run/fields.hpp"

namespace linkscope {
namespace {

std::pair<int, int> read_pair(const Json& json, const std::string& place, std::size_t ranks) {
  std::array<int, 2> both{};
  const bool two = json.is_array() && json.size() == 2;
  for (std::size_t i = 0; two && i < 2; ++i) {
    if (!json[i].is_number_unsigned() || json[i].get<std::uint64_t>() >= ranks) break;
    both.at(i) = json[i].get<int>();
    if (i == 1) return {both[0], both[1]};
  }
  throw Error(Fault::bad_input, place + ": must be two ranks of the schedule");
}

StepFigures read_step(const Json& json, const std::string& place, std::size_t ranks) {
  Fields fields(json, place);
  StepFigures step;
  for (const Json& pair : fields.array("pairs")) {
    step.pairs.push_back(read_pair(pair, place + ".pairs", ranks));
  }
  step.from = fields.count("from_bytes", 0, step.from);
  step.below = fields.count("below_bytes", 1, step.below);
  step.figures = parse_figures(fields.object("figures"), place + ".figures");
  fields.finish();
  return step;
}

std::vector<StepFigures> read_steps(Fields& fields, const std::string& name, std::size_t ranks) {
  std::vector<StepFigures> steps;
  if (fields.find(name) == nullptr) return steps;
  for (const Json& json : fields.array(name)) {
    const std::string place = fields.place() + "." + name + "[" + std::to_string(steps.size()) + "]";
    steps.push_back(read_step(json, place, ranks));
  }
  return steps;
}

std::vector<DeviceId> read_staged_on(Fields& fields, std::size_t ranks) {
  std::vector<DeviceId> devices;
  if (fields.find("staged_on") == nullptr) return devices;
  for (const Json& json : fields.array("staged_on")) {
    try {
      devices.push_back(DeviceId::parse(json.is_string() ? json.get<std::string>() : ""));
    } catch (const Error& error) {
      fields.reject("staged_on", error.what());
    }
  }
  if (devices.size() != ranks) fields.reject("staged_on", "must have an entry for each rank");
  return devices;
}

}  // namespace

std::shared_ptr<const ScheduleFigures> parse_schedule_figures(const Json& json, const std::string& place,
                                                              std::size_t ranks) {
  Fields fields(json, place);
  auto all = std::make_shared<ScheduleFigures>();
  all->messages = read_steps(fields, "messages", ranks);
  all->packs = read_steps(fields, "packs", ranks);
  all->copies_out = read_steps(fields, "copies_out", ranks);
  all->copies_in = read_steps(fields, "copies_in", ranks);
  all->staged_on = read_staged_on(fields, ranks);
  if (const Json* collectives = fields.find("collectives"); collectives != nullptr) {
    Fields kinds(*collectives, place + ".collectives");
    for (const std::string kind : {"all-reduce", "barrier"}) {
      if (const Json* figures = kinds.find(kind); figures != nullptr)
        all->collectives[kind] = parse_figures(*figures, place + ".collectives." + kind);
    }
    kinds.finish();
  }
  fields.finish();
  return all;
}

}  // namespace linkscope
