// Outcomes as CBOR, which takes any bytes: what a step gave, or what it threw.
#include "comm/process_group.hpp"

#include <exception>
#include <map>
#include <string_view>
#include <utility>

#include "base/steady_clock.hpp"
#include "comm/cause.hpp"

namespace linkscope {
namespace {

Json failure(Fault fault, const std::string& what) { return {{"fault", fault}, {"what", what}}; }

Json attempt(const std::function<Json()>& step) {
  try {
    return {{"value", step()}};
  } catch (const Error& error) {
    return failure(error.fault(), error.what());
  } catch (const std::exception& error) {
    return failure(Fault::broken, error.what());
  }
}

/// "executor.cpp:98".
std::string named(const std::source_location& place) {
  const std::string_view file = place.file_name();
  return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(place.line());
}

}  // namespace

std::vector<Json> ProcessGroup::allgather_json(const std::function<Json()>& step, Place place) {
  if (size() == 1) return {step()};
  std::vector<Json> values;
  Json own = attempt(step);
  if (own.contains("fault")) own["at"] = steady_seconds() + clock_offset();
  const Step at{named(place), own.value("what", std::string())};
  const std::vector<std::string> words = allgather(packed(own), at);
  std::multimap<Seconds, std::pair<Fault, Cause>> failed;  // by rank 0's clock
  bool lost = false;
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    Json outcome = Json::from_cbor(words[rank]);
    if (!outcome.contains("fault")) {
      values.push_back(std::move(outcome["value"]));
      continue;
    }
    Cause cause{CauseKind::failed, {static_cast<int>(rank)}, name_of(static_cast<int>(rank))};
    if (!outcome.contains("at")) {
      cause.words += " answers as an engine of another build does: build all from one version";
      throw GroupError(Fault::fatal, {cause});
    }
    cause.words += ": " + outcome["what"].get<std::string>();
    const auto fault = outcome["fault"].get<Fault>();
    lost = lost || fault == Fault::fatal;
    failed.emplace(outcome["at"].get<Seconds>(), std::pair(fault, std::move(cause)));
  }
  if (failed.empty()) return values;
  const auto& [fault, cause] = failed.begin()->second;
  throw GroupError(lost ? Fault::fatal : fault, {cause});
}

std::vector<std::string> ProcessGroup::allgather_words(const std::function<std::string()>& step,
                                                       Place place) {
  std::vector<std::string> all;
  for (Json& word : allgather_json([&]() -> Json { return step(); }, place))
    all.push_back(std::move(word.get_ref<std::string&>()));
  return all;
}

void ProcessGroup::collective_try(const std::function<void()>& step, Place place) {
  static_cast<void>(allgather_json(
      [&]() -> Json {
        step();
        return nullptr;
      },
      place));
}

}  // namespace linkscope
