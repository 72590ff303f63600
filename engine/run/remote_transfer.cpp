// Facts of a transfer, to JSON and back.
#include "run/remote_transfer.hpp"

namespace linkscope {
namespace {

Json json_of(const Setting& setting) {
  Json json = Json::array();
  for (const auto& [name, value] : setting) json.push_back({name, value});
  return json;
}

Setting setting_from(const Json& json) {
  Setting setting;
  for (const Json& pair : json) setting.emplace_back(pair[0].get<std::string>(), pair[1].get<std::int64_t>());
  return setting;
}

}  // namespace

Json json_of(const TransferFacts& facts) {
  Json json{{"operations", facts.operations},       {"max_repeats", facts.max_repeats},
            {"accumulates", facts.accumulates},     {"collective", facts.collective},
            {"touched_bytes", facts.touched_bytes}, {"call_group", facts.call_group},
            {"candidates", Json::array()},          {"calls_in_a_row", facts.calls_in_a_row},
            {"min_sample_s", facts.min_sample_s},   {"setting", json_of(facts.setting)}};
  if (facts.max_calls_in_batch) json["max_calls_in_batch"] = *facts.max_calls_in_batch;
  for (const Setting& setting : facts.candidates) json["candidates"].push_back(json_of(setting));
  return json;
}

TransferFacts facts_from(const Json& json) {
  TransferFacts facts;
  json.at("operations").get_to(facts.operations);
  json.at("max_repeats").get_to(facts.max_repeats);
  if (const auto most = json.find("max_calls_in_batch"); most != json.end())
    facts.max_calls_in_batch = most->get<std::uint64_t>();
  json.at("calls_in_a_row").get_to(facts.calls_in_a_row);
  json.at("min_sample_s").get_to(facts.min_sample_s);
  json.at("accumulates").get_to(facts.accumulates);
  json.at("collective").get_to(facts.collective);
  json.at("touched_bytes").get_to(facts.touched_bytes);
  json.at("call_group").get_to(facts.call_group);
  for (const Json& candidate : json.at("candidates")) facts.candidates.push_back(setting_from(candidate));
  facts.setting = setting_from(json.at("setting"));
  return facts;
}

RemoteTransfer::RemoteTransfer(const Json& stated)
    : notes_(stated.at("notes").get<std::vector<std::string>>()) {
  own_facts() = facts_from(stated.at("facts"));
}

Json statement_of(const Transfer& transfer) {
  return {{"facts", json_of(transfer.facts())}, {"notes", transfer.notes()}};
}

}  // namespace linkscope
