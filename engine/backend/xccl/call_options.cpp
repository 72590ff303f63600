// Reading parameters.
#include "backend/xccl/call_options.hpp"

#include "base/error.hpp"

namespace linkscope::xccl {
namespace {

constexpr std::int64_t most_recorded = 64;  // calls in a graph: a launch of it must fit behind a gate

gpu::LaunchThreads read_launch(const std::string& word) {
  if (word == "one-thread") return gpu::LaunchThreads::one_thread;
  if (word == "thread-per-gpu") return gpu::LaunchThreads::thread_per_gpu;
  throw Error(Fault::bad_input, "parameter launch: '" + word + "' is neither one-thread nor thread-per-gpu");
}

std::uint64_t read_recorded(const Parameters& parameters) {
  const std::string form = parameters.word("form", "eager");
  if (form != "eager" && form != "graph")
    throw Error(Fault::bad_input, "parameter form: '" + form + "' is neither eager nor graph");
  const std::int64_t recorded = parameters.number("recorded", 1);
  if (recorded < 1 || recorded > most_recorded)
    throw Error(Fault::bad_input, "parameter recorded: 1 to " + std::to_string(most_recorded));
  return form == "graph" ? static_cast<std::uint64_t>(recorded) : 0;
}

Registered read_registered(const std::string& word) {
  if (word == "no") return Registered::no;
  if (word == "yes") return Registered::yes;
  throw Error(Fault::bad_input, "parameter registered: '" + word + "' is neither no nor yes");
}

}  // namespace

CallOptions CallOptions::of(const Parameters& parameters) {
  return {read_recorded(parameters), read_launch(parameters.word("launch", "one-thread")),
          read_registered(parameters.word("registered", "no"))};
}

std::map<std::string, std::string> form_parameters() {
  return {
      {"form", "eager (default): a call each time; graph: calls recorded once, launched as a graph"},
      {"recorded",
       "calls that one graph holds, 1 (default) to 64; nccl-tests -G records its -n, which is 20 by default"},
      {"launch",
       "one-thread (default): one thread calls for all GPUs of the process (nccl-tests -g); "
       "thread-per-gpu: one for each (-t)"},
      {"registered",
       "no (default); yes: buffers are registered with the communicator before calls are measured "
       "(ncclCommRegister; nccl-tests -R 1), which may then use them in place"}};
}

}  // namespace linkscope::xccl
