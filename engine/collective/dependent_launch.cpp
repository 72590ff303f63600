// Parameter dependent_launch.
#include "collective/dependent_launch.hpp"

#include "base/error.hpp"
#include "collective/direct_options.hpp"

namespace linkscope::direct {

std::string_view name_of(DependentLaunch dependent) {
  switch (dependent) {
    case DependentLaunch::complete:
      return "complete";
    case DependentLaunch::programmatic:
      return "programmatic";
    case DependentLaunch::early:
      return "early";
  }
  return "";
}

unsigned crowd(const DeviceLimits& limits, DependentLaunch dependent) {
  return limits.shared && dependent != DependentLaunch::complete ? 2 : 1;
}

std::vector<DependentLaunch> dependent_launches(const DeviceLimits& limits, const Parameters& parameters) {
  using enum DependentLaunch;
  const std::string word = parameters.word("dependent_launch", "");
  const DirectOptions form = DirectOptions::of(parameters);
  const bool single = form.launching == LaunchMode::in_kernel;
  const bool alone =
      form.launching == LaunchMode::graph && form.recorded == 1;  // a graph's end is waited for
  const bool has_any = limits.programmatic && !single;
  if (word == "complete") return {complete};
  if (word.empty()) return {has_any && !alone && !limits.shared ? programmatic : complete};
  if (word == "measured") {
    if (!has_any) return {complete};
    return limits.shared ? std::vector{programmatic, complete} : std::vector{programmatic, early, complete};
  }
  if (word != "programmatic" && word != "early")
    throw Error(Fault::bad_input, "parameter dependent_launch: '" + word +
                                      "' is none of complete, programmatic, early, measured");
  if (single) throw Error(Fault::unsupported, "form in-kernel makes one launch: none depends on it");
  if (!limits.programmatic)
    throw Error(
        Fault::unsupported,
        "programmatic dependent launches need CUDA 12.3 and compute capability 9.0 on every member's GPU");
  if (word == "programmatic") return {programmatic};
  if (!limits.shared) return {early};
  throw Error(Fault::unsupported,
              "early dependent launches need a GPU for each member: kernels that wait for "
              "their turn could keep out another member's");
}

std::map<std::string, std::string> dependent_launch_parameters() {
  return {
      {"dependent_launch",
       "when a call's kernel may start on the GPU, to wait there for the end of the one before it: complete: "
       "at that end; programmatic: when that one has begun; early: when that one has been sent to the GPU; "
       "measured: all three; default: programmatic where there is such, a launch follows another and each "
       "member has a GPU of its own, else complete; rows number them from 0"}};
}

}  // namespace linkscope::direct
