// Reads LINKSCOPE_* variables.
#include "run/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "model/parameter.hpp"

namespace linkscope {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr Parameter seed_row = integer("LINKSCOPE_SEED", "of the first pattern", 0, no_limit, 1);
constexpr Parameter sync_row = word("LINKSCOPE_SYNC", "spin|yield|block", "how threads wait for a GPU");
constexpr Parameter threads_row = word("LINKSCOPE_MPI_THREADS", "single|multiple", "that will call MPI");

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

/// Takes a variable's value, which `row` says what may be.
void set(Parameters& values, const Parameter& row, const std::string& value) {
  const std::string objection = row.objection(value);
  if (!objection.empty()) throw Error(Fault::bad_input, std::string(row.name) + ": " + objection);
  values.set(std::string(row.name), value);
}

std::optional<int> read_rank() {
  for (const char* variable : Environment::rank_variables) {
    const std::string text = text_of(variable);
    if (text.empty()) continue;
    const Parameter rank = integer(variable, "from 0", 0, std::numeric_limits<int>::max());
    Parameters values;
    set(values, rank, text);
    return static_cast<int>(values.number(rank));
  }
  return std::nullopt;
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  Parameters values;
  for (const Parameter& row : {seed_row, sync_row, threads_row}) {
    if (const char* value = std::getenv(std::string(row.name).c_str())) set(values, row, value);
  }
  environment.first_seed = static_cast<std::uint64_t>(values.number(seed_row));
  environment.waiting = values.choice<SyncMode>(sync_row);
  environment.mpi = text_of("LINKSCOPE_MPI");
  environment.mpi_callers = values.choice<MpiCallers>(threads_row);
  environment.xccl = text_of("LINKSCOPE_XCCL");
  for (const char* variable : {"LINKSCOPE_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    std::istringstream listed(text_of(variable));
    for (std::string folder; std::getline(listed, folder, ':');) {
      auto& known = environment.python_environments;
      if (!folder.empty() && std::find(known.begin(), known.end(), folder) == known.end())
        known.push_back(std::move(folder));
    }
  }
  environment.python_program = text_of("LINKSCOPE_PYTHON_PROGRAM");
  environment.control = text_of("LINKSCOPE_CONTROL");
  environment.token = text_of("LINKSCOPE_TOKEN");
  environment.rank = read_rank();
  return environment;
}

}  // namespace linkscope
