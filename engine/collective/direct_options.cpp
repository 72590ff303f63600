// Parameters form, recorded, self_check, timeout_ms and jitter_ns.
#include "collective/direct_options.hpp"

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

constexpr std::int64_t most_recorded = 64;  // a launch of it must fit behind a gate
constexpr std::int64_t longest_timeout_ms = 60'000;
constexpr std::int64_t longest_jitter_ns = 100'000'000;

std::int64_t number(const Parameters& parameters, const char* name, std::int64_t otherwise,
                    std::int64_t least, std::int64_t most) {
  const std::int64_t value = parameters.number(name, otherwise);
  if (value >= least && value <= most) return value;
  throw Error(Fault::bad_input, std::string("parameter ") + name + ": " + std::to_string(least) + " to " +
                                    std::to_string(most));
}

LaunchMode read_launching(const std::string& word) {
  if (word == "eager") return LaunchMode::eager;
  if (word == "graph") return LaunchMode::graph;
  if (word == "in-kernel") return LaunchMode::in_kernel;
  throw Error(Fault::bad_input, "parameter form: '" + word + "' is none of eager, graph, in-kernel");
}

SelfCheck read_self_check(const std::string& word) {
  if (word == "no") return SelfCheck::off;
  if (word == "yes") return SelfCheck::on;
  throw Error(Fault::bad_input, "parameter self_check: '" + word + "' is neither yes nor no");
}

}  // namespace

DirectOptions DirectOptions::of(const Parameters& parameters) {
  DirectOptions form;
  form.launching = read_launching(parameters.word("form", "eager"));
  form.recorded = static_cast<std::uint64_t>(number(parameters, "recorded", 1, 1, most_recorded));
  form.self_check = read_self_check(parameters.word("self_check", "no"));
  form.wait_limit =
      1e-3 * static_cast<Seconds>(number(parameters, "timeout_ms", 10'000, 1, longest_timeout_ms));
  form.jitter = 1e-9 * static_cast<Seconds>(number(parameters, "jitter_ns", 0, 0, longest_jitter_ns));
  return form;
}

std::map<std::string, std::string> form_parameters() {
  return {
      {"form",
       "eager (default): a launch for each call; graph: calls recorded once, launched as a graph; in-kernel: "
       "one "
       "launch makes all calls of a start, each member's blocks waiting for the same blocks of the others"},
      {"recorded", "calls that one graph holds, 1 (default) to 64"}};
}

}  // namespace linkscope::direct
