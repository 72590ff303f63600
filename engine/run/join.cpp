// From a supervisor's word to a finished plan.
#include "run/join.hpp"

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "backend/host/topology.hpp"
#include "base/error.hpp"
#include "comm/bootstrap.hpp"
#include "comm/process_group.hpp"
#include "run/fields.hpp"
#include "run/row.hpp"

namespace linkscope {
namespace {

/// For what is under way when another process is gone: a row, the end of a backend.
constexpr Seconds grace = 0.5;
constexpr Seconds to_connect = 20;
constexpr Seconds long_enough = 3600;

/// The connection to the supervisor, which started this process: lines of text. Its descriptor blocks, and another writer
/// of lines may use it.
class Control {
 public:
  /// Throws Error{bad_input} where nobody answers within a few seconds.
  explicit Control(const Address& supervisor) : supervisor_(supervisor), socket_(connect_to(supervisor)) {}

  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  /// The address of this host by which the supervisor knows it, in numbers.
  [[nodiscard]] std::string local_host() const { return socket_.local_host(); }
  /// The next line, however long that takes. Throws Error{bad_input} where the supervisor closes the connection instead.
  [[nodiscard]] std::string hear() {
    std::size_t searched = 0;
    for (;;) {
      const std::size_t end = pending_.find('\n', searched);
      if (end != std::string::npos) {
        std::string line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      searched = pending_.size();
      const Outcome outcome = socket_.receive(pending_);
      if (outcome == Outcome::closed) {
        throw Error(Fault::bad_input, "the supervisor at " + supervisor_.text() +
                                          " closed the connection: is LINKSCOPE_TOKEN that of its run?");
      }
      if (outcome == Outcome::late) wait_for_any({descriptor()}, deadline_in(long_enough));
    }
  }

 private:
  static Socket connect_to(const Address& supervisor) {
    try {
      return Socket::connect(supervisor, deadline_in(to_connect));
    } catch (const Error& error) {
      throw Error(error.fault(), std::string("the supervisor (LINKSCOPE_CONTROL): ") + error.what());
    }
  }

  Address supervisor_;
  Socket socket_;
  std::string pending_;
};

/// What the supervisor says.
struct Assignment {
  std::string plan;
  int rank = 0;
  int size = 1;
  std::string root;
  Seconds limit = 0;
  std::vector<int> cpus;  ///< those to keep to; none: as it was started
};

Assignment read_assignment(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) throw Error(Fault::bad_input, "the supervisor's word is not JSON");
  Fields fields(json, "the supervisor's word");
  Assignment assignment;
  assignment.plan = fields.object("plan").dump();
  assignment.rank = static_cast<int>(fields.count("rank", 0));
  assignment.size = static_cast<int>(fields.count("size", 1));
  assignment.root = fields.text("root", "");
  assignment.limit = fields.number("limit_s");
  if (!(assignment.limit > 0)) fields.reject("limit_s", "must be more than 0");
  if (fields.find("cpus") != nullptr) {
    assignment.cpus = fields.entries("cpus", [&](const Json& cpu, const std::string& /*place*/) {
      if (!cpu.is_number_unsigned()) fields.reject("cpus", "must be a list of CPU numbers");
      return cpu.get<int>();
    });
  }
  fields.finish();
  return assignment;
}

void check_rank(const Assignment& assignment, int rank) {
  if (assignment.rank != rank) {
    throw Error(Fault::bad_input, "the supervisor takes rank " + std::to_string(rank) + " for rank " +
                                      std::to_string(assignment.rank));
  }
  if (assignment.rank >= assignment.size) {
    throw Error(Fault::bad_input, "rank " + std::to_string(assignment.rank) + " has no place in a group of " +
                                      std::to_string(assignment.size));
  }
}

/// Tells texts apart that are not made to be confused (FNV-1a).
std::string fingerprint(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  std::ostringstream out;
  out << std::hex << hash;
  return out.str();
}

Json introduction(const Environment& environment, const std::string& engine,
                  const std::optional<Listener>& listener) {
  Json hello{
      {"record", "hello"},   {"schema", schema_number},    {"version", engine_version()},
      {"backend", engine},   {"token", environment.token}, {"rank", *environment.rank},
      {"host", host_name()}, {"pid", ::getpid()},          {"cpus", host::CpuSet::of_this_thread().cpus()}};
  if (listener) hello["root_port"] = listener->port();
  return hello;
}

BootstrapOptions options(const Environment& environment, const std::string& engine,
                         const Assignment& assignment) {
  BootstrapOptions own;
  own.handshake.token = environment.token;
  own.handshake.rank = assignment.rank;
  own.handshake.size = assignment.size;
  own.handshake.host = host_name();
  own.handshake.clock = clock_identity();
  own.handshake.fields = {{"schema", std::to_string(schema_number)},
                          {"version", engine_version()},
                          {"engine", engine},
                          {"plan", fingerprint(assignment.plan)},
                          {"LINKSCOPE_SEED", std::to_string(environment.first_seed)}};
  own.limit = assignment.limit;
  return own;
}

std::vector<Watchdog::Guard> watch_over(Bootstrap& group, Watchdog& watch) {
  std::vector<Watchdog::Guard> guards;
  for (const Bootstrap::Connection& other : group.connections()) {
    guards.push_back(
        watch.over(other.descriptor, grace, [&group, rank = other.rank] { return group.part_from(rank); }));
  }
  return guards;
}

python::GroupPlace place_of(const Assignment& assignment) {
  python::GroupPlace place;
  place.rank = assignment.rank;
  place.size = assignment.size;
  if (assignment.size == 1) return place;
  place.root_host = Address::parse(assignment.root, "the supervisor's word: root").host;
  place.limit = assignment.limit;
  return place;
}

/// Carries out the plan. `lost` is called before a process that cannot go on takes itself apart.
Health work(ProcessGroup& group, const Assignment& assignment, const Environment& environment,
            const EngineFactory& factory, JsonLines& out, const std::function<void()>& lost) {
  std::optional<Plan> plan;
  std::optional<Backend> backend;
  std::optional<Executor> executor;
  group.collective_try([&] {
    plan = parse_plan(assignment.plan);
    backend = factory.open(*plan, place_of(assignment));
    executor.emplace(*backend, *plan, environment, group, out);
  });
  const Health health = executor->run();
  if (health == Health::lost) lost();
  return health;
}

/// As far as the supervisor still listens.
void tell(JsonLines& out, const Json& record) {
  try {
    out.write(record);
  } catch (const WriteError&) {
    return;
  }
}

/// `trouble`: why it is lost, where the others are the reason; the supervisor has been told.
Health run_rank(const Environment& environment, const EngineFactory& factory, Control& control,
                JsonLines& out, std::optional<GroupError>& trouble) {
  std::optional<Listener> listener;
  if (*environment.rank == 0) listener.emplace(control.local_host());
  out.write(introduction(environment, factory.engine, listener));
  const Assignment assignment = read_assignment(control.hear());
  check_rank(assignment, *environment.rank);
  host::keep_to(assignment.cpus);  // before any thread is started and any device opened

  Watchdog watch(factory.leave);
  const Watchdog::Guard supervised =
      watch.over(control.descriptor(), 0, [] { return std::string("the supervisor is gone"); });
  if (assignment.size == 1) {
    ProcessGroup alone;
    return work(alone, assignment, environment, factory, out, [] {});
  }
  BootstrapOptions own = options(environment, factory.engine, assignment);
  own.on_failure = [&out](const std::string& reason) {
    tell(out, {{"record", "failure"}, {"reason", one_line(reason)}});
  };
  const std::unique_ptr<Bootstrap> group =
      listener ? std::make_unique<Bootstrap>(*listener, std::move(own))
               : std::make_unique<Bootstrap>(Address::parse(assignment.root, "the supervisor's word: root"),
                                             std::move(own));
  listener.reset();  // who comes now has no place
  std::optional<Watchdog::Guard> last_moments;
  {
    const std::vector<Watchdog::Guard> others = watch_over(*group, watch);
    const Health health = work(*group, assignment, environment, factory, out, [&] {
      trouble = group->broken();
      if (trouble) tell(out, error_record(*trouble));
      last_moments.emplace(watch.over(std::nullopt, grace, [&] {
        return (trouble ? trouble->what() + std::string("; ") : "") + "ending in good order took too long";
      }));
    });
    if (health == Health::lost) return health;
  }
  group->allgather({}, {"the end", {}});  // all are done: from now on connections may end
  return Health::sound;
}

}  // namespace

Health join(const Environment& environment, const EngineFactory& factory) {
  if (environment.control.empty())
    throw Error(Fault::bad_input,
                "join is for processes that linkscope starts: LINKSCOPE_CONTROL is not set");
  if (!environment.rank) {
    std::string names;
    for (const char* name : Environment::rank_variables)
      names += (names.empty() ? "" : ", ") + std::string(name);
    throw Error(Fault::bad_input, "nothing says which rank this process is: none of " + names + " is set");
  }
  Control control(Address::parse(environment.control, "LINKSCOPE_CONTROL"));
  JsonLines out(control.descriptor());
  std::optional<GroupError> trouble;
  Health health = Health::lost;
  try {
    health = run_rank(environment, factory, control, out, trouble);
  } catch (const Error& error) {
    tell(out, error_record(error));
    throw;
  }
  if (trouble) throw *trouble;
  return health;
}

}  // namespace linkscope
