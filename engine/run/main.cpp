// linkscope-engine: runs the cases of a plan and prints one JSON line per event. Python is its user.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "record/json_lines.hpp"
#include "run/catalog.hpp"
#include "run/environment.hpp"
#include "run/executor.hpp"
#include "run/join.hpp"
#include "run/plan.hpp"
#include "run/row.hpp"

namespace {

using namespace linkscope;

constexpr int success = 0;
constexpr int bad_input = 2;
constexpr int lost = 3;

constexpr const char* usage =
    "usage: linkscope-engine describe                print what this engine can do, one JSON line\n"
    "       linkscope-engine run PLAN.json           run a plan, one JSON line per event (schema/)\n"
    "       linkscope-engine join                    be one process of a run with several "
    "(docs/architecture.md)\n"
    "       linkscope-engine --version | --help\n"
    "       linkscope-engine --fake COMMAND          with one method that fails as a plan asks, for tests\n"
    "environment: LINKSCOPE_SEED  seed of the first data pattern (default 1)\n"
    "             LINKSCOPE_SYNC  how threads wait for a GPU: spin (default), yield or block\n"
    "             LINKSCOPE_MPI   an MPI library with the standard ABI, or an adapter of linkscope's\n"
    "             LINKSCOPE_MPI_THREADS  the level that MPI is asked for: single (default) or multiple\n"
    "             LINKSCOPE_XCCL  the library of NCCL or RCCL (libnccl.so.2, librccl.so.1)\n"
    "             LINKSCOPE_PYTHON  folders of Python environments, joined by colons, to look for libraries "
    "in\n"
    "             LINKSCOPE_PYTHON_PROGRAM  the Python that carries out methods of PyTorch's\n"
    "             LINKSCOPE_CONTROL, LINKSCOPE_TOKEN, LINKSCOPE_RANK  for join: the supervisor's HOST:PORT, "
    "the\n"
    "                             secret of its run, and this process's rank where the launcher does not say "
    "it\n"
    "exit codes: 0 done, 2 bad plan or command line, or output not writable, 3 a fault ended the run: of a "
    "device, or another process is gone\n";

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw Error(Fault::bad_input, "the plan '" + path + "' is a folder");
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw Error(Fault::bad_input, "cannot read the plan '" + path + "'");
  return text;
}

/// Which methods and memories the engine shall have.
enum class Offer { all, fake };

int describe(const std::vector<std::string>& arguments, Offer offer) {
  if (!arguments.empty()) throw Error(Fault::bad_input, "describe takes nothing");
  JsonLines out = JsonLines::alone_at(STDOUT_FILENO, STDERR_FILENO);
  const Environment environment = Environment::read();
  out.write(description_record(offer == Offer::fake ? open_fake() : open_measured(1, environment)));
  return success;
}

Backend open(Offer offer, const Plan& plan, const Environment& environment, python::GroupPlace place) {
  if (offer == Offer::fake) return open_fake();
  place.memory_limit = plan.memory_limit_bytes;
  return open_measured(widest_load(plan), environment, std::move(place));
}

int complain(const std::string& what, int code) {
  std::cerr << "linkscope-engine: " + one_line(what) + '\n';
  return code;
}

int join_run(const std::vector<std::string>& arguments, Offer offer) {
  if (!arguments.empty())
    throw Error(Fault::bad_input, "join takes nothing: the supervisor hands out the plan");
  const Environment environment = Environment::read();
  const EngineFactory factory{LINKSCOPE_ENGINE,
                              [&](const Plan& plan, const python::GroupPlace& place) {
                                return open(offer, plan, environment, place);
                              },
                              [](const std::string& why) { ::_exit(complain(why, lost)); }};
  return join(environment, factory) == Health::sound ? success : lost;
}

int run(const std::vector<std::string>& arguments, Offer offer) {
  if (arguments.size() != 1) throw Error(Fault::bad_input, "run takes one plan file");
  const Environment environment = Environment::read();
  Plan plan = parse_plan(read_file(arguments.front()));
  JsonLines out = JsonLines::alone_at(STDOUT_FILENO, STDERR_FILENO);
  const Backend backend = open(offer, plan, environment, {});
  ProcessGroup group;
  return Executor(backend, plan, environment, group, out).run() == Health::sound ? success : lost;
}

int dispatch(const std::vector<std::string>& arguments, Offer offer = Offer::all) {
  const std::string command = arguments.empty() ? "" : arguments.front();
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (command == "describe") return describe(rest, offer);
  if (command == "run") return run(rest, offer);
  if (command == "join") return join_run(rest, offer);
  if (command == "--fake") return dispatch(rest, Offer::fake);
  if (command == "--version") {
    std::cout << "linkscope-engine " << engine_version() << '\n';
    return success;
  }
  if (command == "--help" || command == "-h") {
    std::cout << usage;
    return success;
  }
  throw Error(Fault::bad_input, command.empty() ? "say describe or run PLAN.json (--help tells more)"
                                                : "unknown command '" + command + "' (--help tells more)");
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that went away shall be an error that says so, not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return dispatch({argv + 1, argv + argc});
  } catch (const Error& error) {
    return complain(error.what(), error.fault() == Fault::bad_input ? bad_input : lost);
  } catch (const WriteError& error) {
    return complain(error.what(), bad_input);
  } catch (const std::exception& error) {
    return complain(error.what(), lost);
  }
}
