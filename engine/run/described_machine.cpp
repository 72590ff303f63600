// From the plan's `machine` to the modelled backend's.
#include "run/described_machine.hpp"

#include "base/error.hpp"
#include "run/fields.hpp"

namespace linkscope {
namespace {

DeviceId parse_device(const Fields& fields, const std::string& member, const std::string& text) {
  try {
    return DeviceId::parse(text);
  } catch (const Error& error) {
    fields.reject(member, error.what());
  }
}

modelled::MachineDevice read_device(const Json& json, const std::string& place) {
  Fields fields(json, place);
  modelled::MachineDevice device;
  device.id = parse_device(fields, "id", fields.text("id"));
  device.name = fields.text("name", "");
  device.memory_bytes = fields.count("memory_bytes", 0, device.memory_bytes);
  device.memory_gbps = fields.number("memory_gbps");
  if (fields.find("memory_latency_ns") != nullptr)
    device.memory_latency_ns = fields.number("memory_latency_ns");
  fields.finish();
  return device;
}

modelled::MachineLink read_link(const Json& json, const std::string& place) {
  Fields fields(json, place);
  modelled::MachineLink link;
  link.id = fields.text("id");
  link.gbps = fields.number("gbps");
  if (fields.find("latency_ns") != nullptr) link.latency_ns = fields.number("latency_ns");
  fields.finish();
  return link;
}

std::string element(const std::string& list, std::size_t index) {
  return "machine." + list + "[" + std::to_string(index) + "]";
}

void read_routes(Fields& fields, modelled::Machine& machine) {
  if (fields.find("routes") == nullptr) return;
  const Json& routes = fields.array("routes");
  for (std::size_t i = 0; i < routes.size(); ++i) {
    Fields route(routes[i], element("routes", i));
    const DeviceId from = parse_device(route, "from", route.text("from"));
    const DeviceId to = parse_device(route, "to", route.text("to"));
    std::vector<std::string>& links = machine.routes[{from, to}];
    for (const Json& link : route.array("links")) {
      if (!link.is_string()) route.reject("links", "must list names of links");
      links.push_back(link.get<std::string>());
    }
    route.finish();
  }
}

void read_peer_access(Fields& fields, modelled::Machine& machine) {
  if (fields.find("peer_access") == nullptr) return;
  machine.peer_access.emplace();
  for (const Json& pair : fields.array("peer_access")) {
    const bool two_names = pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
    if (!two_names) fields.reject("peer_access", "must list pairs of devices");
    machine.peer_access->emplace_back(parse_device(fields, "peer_access", pair[0].get<std::string>()),
                                      parse_device(fields, "peer_access", pair[1].get<std::string>()));
  }
}

}  // namespace

MethodFigures parse_figures(const Json& json, const std::string& place) {
  Fields fields(json, place);
  MethodFigures figures;
  const auto positive = [&](const std::string& name, double otherwise) {
    const double value = fields.number(name, otherwise);
    if (!(value > 0)) fields.reject(name, "must be more than 0");
    return value;
  };
  figures.latency_us = fields.number("latency_us", figures.latency_us);
  figures.step_us = fields.number("step_us", figures.step_us);
  figures.ceiling_gbps = positive("ceiling_gbps", figures.ceiling_gbps);
  figures.efficiency = positive("efficiency", figures.efficiency);
  if (fields.find("cached_gbps") != nullptr) figures.cached_gbps = positive("cached_gbps", 0);
  if (fields.find("settled") != nullptr) {
    for (const Json& name : fields.array("settled")) {
      if (!name.is_string()) fields.reject("settled", "must list names of parameters");
      figures.settled.insert(name.get<std::string>());
    }
  }
  if (fields.find("load_ns") != nullptr) figures.load_ns = positive("load_ns", 0);
  fields.finish();
  return figures;
}

modelled::Machine parse_machine(const Json& json) {
  Fields fields(json, "machine");
  modelled::Machine machine;
  machine.name = fields.text("name");
  const Json& devices = fields.array("devices");
  for (std::size_t i = 0; i < devices.size(); ++i)
    machine.devices.push_back(read_device(devices[i], element("devices", i)));
  const Json& links = fields.array("links");
  for (std::size_t i = 0; i < links.size(); ++i)
    machine.links.push_back(read_link(links[i], element("links", i)));
  for (const auto& [name, method] : fields.object("methods").items()) {
    machine.methods[name] = parse_figures(method, "machine.methods." + name);
  }
  read_routes(fields, machine);
  read_peer_access(fields, machine);
  machine.noise = fields.number("noise", machine.noise);
  fields.finish();
  return machine;
}

}  // namespace linkscope
