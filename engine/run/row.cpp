// Turns results and catalogs into records.
#include "run/row.hpp"

#include <algorithm>
#include <utility>

#include "run/plan.hpp"

namespace linkscope {

LINKSCOPE_TO_JSON(MethodTraits, stages, maps_members, by_mpi, by_xccl, by_python, by_kernel, takes_empty,
                  answered, migrates, leaves_pages, both_ways, dependent, schedules, host_gbps, gpu_gbps,
                  fill_gbps, cpu_fill_gbps, calls)
LINKSCOPE_TO_JSON(MemoryTraits, system_pages, huge_pages, migrates, registered, uncached, shareable,
                  plain_allocation, grained, by_library, collective_allocation)

LINKSCOPE_TO_JSON(Stats, n, median, low, high, mean, min, p5, p95, p99, max)
NLOHMANN_JSON_SERIALIZE_ENUM(Stop, {{Stop::precision, "precision"},
                                    {Stop::budget, "budget"},
                                    {Stop::samples, "samples"}})

namespace {

Json setting_json(const Setting& setting) { return Json::object_t(setting.begin(), setting.end()); }

Json flow_json(const FlowResult& flow) {
  Json json{{"repeats", flow.repeats}, {"operations", flow.operations}, {"seconds", flow.seconds}};
  if (flow.gbps) json["gbps"] = *flow.gbps;
  if (!flow.parts_s.empty()) json["parts_s"] = flow.parts_s;
  for (const Breakdown& part : flow.breakdown)
    json["breakdown"].push_back({{"parts_s", part.parts}, {"phases_s", part.phases}});
  if (flow.touched_bytes > 0) json["touched_bytes"] = flow.touched_bytes;
  if (!flow.setting.empty()) json["setting"] = setting_json(flow.setting);
  for (const TriedSetting& trial : flow.tried) {
    Json tried = setting_json(trial.setting);
    tried["gbps"] = trial.gbps;
    json["tuned"].push_back(std::move(tried));
  }
  if (!flow.notes.empty()) json["notes"] = flow.notes;
  json["samples_s"] = flow.samples_s;
  return json;
}

/// What did not count, and what the machine took from the CPU threads; nothing where there was nothing.
void add_interference(Json& row, const CaseResult& result) {
  if (result.load_ended > 0) row["discarded"]["load-ended"] = result.load_ended;
  if (result.kept_waiting > 0) row["discarded"]["run-queue"] = result.kept_waiting;
  const Interference& by = result.interference;
  if (by == Interference{} && result.stolen <= 0) return;
  row["interference"] = {
      {"waited_s", by.waited}, {"apart_s", by.apart}, {"switches", by.switches}, {"stolen_s", result.stolen}};
}

Json row_head(const RowFrame& frame, const char* status) {
  return {{"record", "row"},
          {"id", frame.id},
          {"status", status},
          {"modelled", false},
          {"backend", frame.backend.name}};
}

void add_times(Json& row, const RowFrame& frame) {
  row["started"] = rfc3339(frame.started);
  row["elapsed_s"] = frame.elapsed;
}

/// Attributes are words in the model; those that read as whole numbers become numbers.
Json attribute_json(const std::string& value) {
  const bool number = !value.empty() && value.size() < 18 &&
                      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number ? Json(std::stoll(value)) : Json(value);
}

Json device_json(const DeviceFacts& device) {
  Json json{{"id", device.id.text()}, {"name", device.name}};
  if (device.memory_bytes > 0) json["memory_bytes"] = device.memory_bytes;
  if (!device.pci.empty()) json["pci"] = device.pci;
  if (device.numa >= 0) json["numa"] = device.numa;
  if (!device.cpus.empty()) json["cpus"] = device.cpus;
  if (!device.attributes.empty()) {
    Json attributes = Json::object();
    for (const auto& [name, value] : device.attributes) attributes[name] = attribute_json(value);
    json["attributes"] = std::move(attributes);
  }
  return json;
}

/// What is not as by default, under the names that schema/result.schema.json gives it.
template <class Traits>
Json stated(const Traits& traits) {
  const Json usual = Traits{};
  const Json all = traits;
  Json json = Json::object();
  for (const auto& [name, value] : all.items()) {
    if (value != usual.at(name)) json[name] = value;
  }
  return json;
}

Json traits_json(const MethodTraits& traits) { return stated(traits); }

Json traits_json(const MemoryTraits& traits) {
  Json json = Json::object();
  if (traits.home != Home::anywhere) json["lies_on"] = traits.home == Home::host ? "host" : "gpu";
  if (traits.placed_by_touch()) json["placed_by_touch"] = true;
  json.update(stated(traits));
  return json;
}

template <class Listed>
Json entry_json(const Listed& listed) {
  const Support available = listed.available();
  Json json{
      {"name", listed.name()}, {"summary", listed.summary()}, {"available", static_cast<bool>(available)}};
  if (!available) json["reason"] = one_line(available.reason());
  json["traits"] = traits_json(listed.traits());
  return json;
}

Json method_json(const Method& method) {
  Json json = entry_json(method);
  json["kind"] = method.spec.quantity == Quantity::bandwidth ? "bandwidth" : "latency";
  for (const Parameter& parameter : method.parameters)
    json["parameters"][std::string(parameter.name)] = parameter.line();
  return json;
}

void add_causes(Json& record, const Causes& causes) {
  for (const Cause& cause : causes) {
    record["causes"].push_back(
        {{"how", cause.kind}, {"ranks", cause.ranks}, {"words", one_line(cause.words)}});
  }
}

}  // namespace

std::string engine_version() { return LINKSCOPE_VERSION; }

Json hello_record(const Backend& backend) {
  return {{"record", "hello"},
          {"schema", schema_number},
          {"version", engine_version()},
          {"backend", backend.name}};
}

Json ok_row(const RowFrame& frame, const CaseResult& result) {
  Json row = row_head(frame, "ok");
  for (const FlowResult& flow : result.flows) row["flows"].push_back(flow_json(flow));
  if (result.aggregate) {
    row["aggregate"] = {{"gbps", result.aggregate->gbps},
                        {"overlap", result.aggregate->overlap},
                        {"timeline_uncertainty_us", result.aggregate->timeline_uncertainty * 1e6}};
  }
  row["stopped"] = result.stopped;
  add_interference(row, result);
  row["verified"] = {{"passes", result.passes}, {"bytes", result.verified_bytes}};
  add_times(row, frame);
  return rounded(std::move(row));
}

Json failure_row(const RowFrame& frame, Fault fault, const std::string& reason, const Causes& causes) {
  const bool skipped = fault == Fault::unsupported || fault == Fault::no_memory;
  Json row = row_head(frame, skipped ? "skipped" : "failed");
  row["reason"] = one_line(reason);
  if (!skipped) add_causes(row, causes);
  add_times(row, frame);
  return rounded(std::move(row));
}

Json error_record(const Error& error) {
  const char* fault = error.fault() == Fault::bad_input ? "bad-input" : "lost";
  Json record{{"record", "error"}, {"fault", fault}, {"reason", one_line(error.what())}};
  add_causes(record, causes_of(error));
  return record;
}

Json description_record(const Backend& backend) {
  Json json = hello_record(backend);
  json["record"] = "description";
  if (!backend.problem.empty()) json["problem"] = one_line(backend.problem);
  auto versions = backend.versions;
  if (backend.further_versions) versions.merge(backend.further_versions());
  json["versions"] = std::move(versions);
  json["devices"] = Json::array();
  for (const DeviceFacts& device : backend.devices) json["devices"].push_back(device_json(device));
  json["peer_access"] = Json::array();
  for (const auto& [from, to] : backend.peer_access) json["peer_access"].push_back({from.text(), to.text()});
  json["methods"] = Json::array();
  for (const Method& method : backend.methods) json["methods"].push_back(method_json(method));
  json["memories"] = Json::array();
  for (const auto& memory : backend.memories) json["memories"].push_back(entry_json(*memory));
  return json;
}

}  // namespace linkscope
