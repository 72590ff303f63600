// Outcomes as CBOR, which takes any bytes: what a step gave, or what it threw.
#include "run/consensus.hpp"

#include <exception>
#include <utility>

namespace linkscope {
namespace {

Json failure(Fault fault, const std::string& what) {
  return {{"fault", static_cast<int>(fault)}, {"what", what}};
}

std::string packed(const Json& json) {
  std::string bytes;
  Json::to_cbor(json, bytes);
  return bytes;
}

Json attempt(const std::function<Json()>& step) {
  try {
    return {{"value", step()}};
  } catch (const Error& error) {
    return failure(error.fault(), error.what());
  } catch (const std::exception& error) {
    return failure(Fault::broken, error.what());
  }
}

}  // namespace

std::vector<Json> Consensus::outcomes(const std::function<Json()>& step) {
  if (world_->size() == 1) return {step()};
  std::vector<Json> values;
  const Json own = attempt(step);
  const std::vector<std::string> words = own.contains("fault")
                                             ? world_->exchange_failure(packed(own), own["what"])
                                             : world_->exchange(packed(own));
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    Json outcome = Json::from_cbor(words[rank]);
    if (outcome.contains("fault")) {
      throw Error(static_cast<Fault>(outcome["fault"].get<int>()),
                  world_->name_of(static_cast<int>(rank)) + ": " + outcome["what"].get<std::string>());
    }
    values.push_back(std::move(outcome["value"]));
  }
  return values;
}

std::vector<std::string> Consensus::words(const std::function<std::string()>& step) {
  if (world_->size() == 1) return {step()};
  const auto as_binary = [&]() -> Json {
    const std::string word = step();
    return Json::binary({word.begin(), word.end()});
  };
  std::vector<std::string> all;
  for (const Json& word : outcomes(as_binary)) {
    const auto& bytes = word.get_binary();
    all.emplace_back(bytes.begin(), bytes.end());
  }
  return all;
}

void Consensus::together(const std::function<void()>& step) {
  static_cast<void>(outcomes([&]() -> Json {
    step();
    return nullptr;
  }));
}

}  // namespace linkscope
