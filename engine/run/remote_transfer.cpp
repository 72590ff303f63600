// Facts of a transfer, to JSON and back.
#include "run/remote_transfer.hpp"

namespace linkscope {
namespace {

Json setting_json(const Setting& setting) {
  Json json = Json::array();
  for (const auto& [name, value] : setting) json.push_back({name, value});
  return json;
}

Setting read_setting(const Json& json) {
  Setting setting;
  for (const Json& pair : json) setting.emplace_back(pair[0].get<std::string>(), pair[1].get<std::int64_t>());
  return setting;
}

std::vector<Setting> read_settings(const Json& json) {
  std::vector<Setting> settings;
  for (const Json& one : json) settings.push_back(read_setting(one));
  return settings;
}

}  // namespace

RemoteTransfer::RemoteTransfer(const Json& facts)
    : accumulates_(facts.at("accumulates").get<bool>()),
      touched_bytes_(facts.at("touched_bytes").get<Bytes>()),
      operations_(facts.at("operations").get<std::uint64_t>()),
      max_repeats_(facts.at("max_repeats").get<std::uint64_t>()),
      max_calls_in_batch_(facts.at("max_calls_in_batch").get<std::uint64_t>()),
      company_(facts.at("company").get<std::string>()),
      candidates_(read_settings(facts.at("candidates"))),
      setting_(read_setting(facts.at("setting"))),
      notes_(facts.at("notes").get<std::vector<std::string>>()) {}

Json facts_of(const Transfer& transfer) {
  Json candidates = Json::array();
  for (const Setting& setting : transfer.candidates()) candidates.push_back(setting_json(setting));
  return {{"accumulates", transfer.accumulates()},
          {"touched_bytes", transfer.touched_bytes()},
          {"operations", transfer.operations()},
          {"max_calls_in_batch", transfer.max_calls_in_batch()},
          {"max_repeats", transfer.max_repeats()},
          {"company", transfer.call_group()},
          {"candidates", std::move(candidates)},
          {"setting", setting_json(transfer.setting())},
          {"notes", transfer.notes()}};
}

}  // namespace linkscope
