// Parameters form and recorded.
#include "collective/direct_options.hpp"

#include "base/error.hpp"

namespace linkscope::direct {
namespace {

constexpr std::int64_t most_recorded = 64;  // a launch of it must fit behind a gate

std::uint64_t read_recorded(std::int64_t calls) {
  if (calls >= 1 && calls <= most_recorded) return static_cast<std::uint64_t>(calls);
  throw Error(Fault::bad_input, "parameter recorded: 1 to " + std::to_string(most_recorded));
}

LaunchMode read_launching(const std::string& word) {
  if (word == "eager") return LaunchMode::eager;
  if (word == "graph") return LaunchMode::graph;
  if (word == "in-kernel") return LaunchMode::in_kernel;
  throw Error(Fault::bad_input, "parameter form: '" + word + "' is none of eager, graph, in-kernel");
}

}  // namespace

DirectOptions DirectOptions::of(const Parameters& parameters) {
  return {read_launching(parameters.word("form", "eager")), read_recorded(parameters.number("recorded", 1))};
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
