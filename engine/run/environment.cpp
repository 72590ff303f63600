// Reads LINKSCOPE_* variables.
#include "run/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace linkscope {
namespace {

SyncMode parse_waiting(const std::string& text) {
  if (text == "spin") return SyncMode::spin;
  if (text == "yield") return SyncMode::yield;
  if (text == "block") return SyncMode::block;
  throw Error(Fault::bad_input, "LINKSCOPE_SYNC: '" + text + "' is none of spin, yield and block");
}

MpiCallers parse_callers(const std::string& text) {
  if (text == "single") return MpiCallers::alone;
  if (text == "multiple") return MpiCallers::many;
  throw Error(Fault::bad_input, "LINKSCOPE_MPI_THREADS: '" + text + "' is neither single nor multiple");
}

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

template <class Number>
Number parse_number(const char* variable, const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end)
    throw Error(Fault::bad_input, std::string(variable) + ": '" + text + "' is not a whole number");
  return number;
}

std::optional<int> read_rank() {
  for (const char* variable : Environment::rank_variables) {
    const std::string text = text_of(variable);
    if (text.empty()) continue;
    const int rank = parse_number<int>(variable, text);
    if (rank < 0) throw Error(Fault::bad_input, std::string(variable) + ": a rank is never negative");
    return rank;
  }
  return std::nullopt;
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  if (const char* seed = std::getenv("LINKSCOPE_SEED")) {
    environment.first_seed = parse_number<std::uint64_t>("LINKSCOPE_SEED", seed);
  }
  if (const char* waiting = std::getenv("LINKSCOPE_SYNC")) environment.waiting = parse_waiting(waiting);
  environment.mpi = text_of("LINKSCOPE_MPI");
  if (const char* threads = std::getenv("LINKSCOPE_MPI_THREADS"))
    environment.mpi_callers = parse_callers(threads);
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
