#include "backend/mpi/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/pack.hpp"

namespace linkscope::mpi {

namespace {

constexpr const char* site_adapter = "liblinkscope-mpi-site.so";
// MPI 5.0 is version 1 of the ABI; 0 is what libraries called it before.
constexpr std::array<const char*, 3> library_names{"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"};

/// lib/ of each environment, and each lib/ above the engine.
std::vector<std::filesystem::path> folders(const SearchRoots& roots) {
  std::vector<std::filesystem::path> found;
  const auto add = [&](const std::filesystem::path& folder) {
    if (std::find(found.begin(), found.end(), folder) == found.end()) found.push_back(folder);
  };
  for (const auto& environment : roots.environments) add(environment / "lib");
  for (auto at = roots.engine; at.has_relative_path(); at = at.parent_path()) {
    if (at.filename() == "lib" || at.filename() == "lib64") add(at);
  }
  return found;
}

constexpr const char* entry = "linkscope_mpi_functions";

/// MPI 5.0 is major version 1; a library of another ABI has no such function, or says -1.
bool has_standard_abi(const SharedLibrary& library) {
  int major = -1;
  int minor = -1;
  auto* const version = library.find<int(int*, int*)>("MPI_Abi_get_version");
  return version != nullptr && version(&major, &minor) == 0 && major == 1;
}

/// Returns the file that `library`, or what it needs, has its MPI from; `otherwise` where nobody can tell.
std::string file_of_mpi(const SharedLibrary& library, const std::string& otherwise) {
  Dl_info found{};
  const auto* const function = library.find<const void>("MPI_Get_library_version");
  const bool known = function != nullptr && dladdr(function, &found) != 0 && found.dli_fname != nullptr;
  return known ? found.dli_fname : otherwise;
}

/// A bare name may be anywhere; a path that does not exist needs no loader to say so.
bool may_exist(const std::filesystem::path& file) {
  std::error_code unknown;
  return !file.has_parent_path() || std::filesystem::exists(file, unknown);
}

/// Says where the candidates are looked for, for the reason why nothing was found.
std::string places(const SearchRoots& roots) {
  if (!roots.asked.empty()) return roots.asked + " (LINKSCOPE_MPI)";
  std::string text =
      std::string(site_adapter) + " in " + roots.engine.string() + ", libmpi_abi.so in the loader's path";
  for (const auto& folder : folders(roots)) text += ", in " + folder.string();
  return text;
}

constexpr int text_room = 1024;
// Every MPI has tags up to 32767.
constexpr int tags_of_a_flow = 3;
constexpr int most_flows = 32768 / tags_of_a_flow;

const char* name_of(MpiThreads threads) {
  constexpr std::array names{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_MULTIPLE"};
  return names.at(threads);
}

// MPICH's numbers for kinds of GPU (MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_HIP).
constexpr std::array mpich_kinds{0, 2};
constexpr std::array queries{"MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "MPIX_Query_hip_support"};
constexpr const char* mpich_query = "MPIX_GPU_query_support";
// An Open MPI without its extensions says by these what it was built with.
constexpr std::array built_with{"opal_built_with_cuda_support", "opal_built_with_rocm_support"};

template <class What>
What* loaded(const char* name) {
  return reinterpret_cast<What*>(dlsym(RTLD_DEFAULT, name));
}

bool names_a_gpu(const std::string& memory_kinds) {
  std::istringstream list(memory_kinds);
  for (std::string kind; std::getline(list, kind, ',');) {
    const std::string name = kind.substr(0, kind.find(':'));  // a kind may be restricted: "cuda:device"
    if (name == "cuda" || name == "rocm") return true;
  }
  return false;
}

}  // namespace

SearchRoots SearchRoots::of(std::string asked, const std::vector<std::string>& environments) {
  std::error_code unknown;
  const auto engine = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return {std::move(asked), engine.parent_path(), {environments.begin(), environments.end()}};
}

std::vector<std::filesystem::path> candidates(const SearchRoots& roots) {
  if (!roots.asked.empty()) return {roots.asked};
  std::vector<std::filesystem::path> all{roots.engine / site_adapter};
  all.insert(all.end(), library_names.begin(), library_names.end());
  for (const auto& folder : folders(roots)) {
    for (const char* name : library_names) all.push_back(folder / name);
  }
  return all;
}

Support MpiLibrary::available() {
  if (!outcome_) outcome_ = load();
  return *outcome_;
}

Support MpiLibrary::load() {
  const bool asked = !roots_.asked.empty();
  std::string unusable;
  for (const std::filesystem::path& file : candidates(roots_)) {
    if (!may_exist(file)) continue;
    const Support loaded = load(file);
    if (loaded) return loaded;
    if (asked || file.has_parent_path()) unusable += "; " + loaded.reason();
  }
  return Support::no("no MPI library: looked for " + places(roots_) + unusable +
                     (asked ? "" : "; set LINKSCOPE_MPI to one"));
}

Support MpiLibrary::load(const std::filesystem::path& file) {
  const SharedLibrary library(file, RTLD_GLOBAL);  // for an adapter, and for MPI's own plug-ins
  if (!library.loaded()) return Support::no(SharedLibrary::problem());
  file_ = file_of_mpi(library, file.string());
  if (library.find<void>(entry) != nullptr) return adopt(library, file);
  if (!has_standard_abi(library)) {
    return Support::no(file.string() +
                       " has not the standard ABI of MPI 5.0: build linkscope with its mpicc, as by "
                       "`MPICC=PATH make setup`");
  }
  const std::filesystem::path adapter = roots_.engine / "liblinkscope-mpi-abi.so";
  const SharedLibrary adapting(adapter, RTLD_GLOBAL);
  return adapting.loaded() ? adopt(adapting, adapter) : Support::no(SharedLibrary::problem());
}

Support MpiLibrary::adopt(const SharedLibrary& adapter, const std::string& file) {
  auto* const functions = adapter.find<const MpiFunctions*()>(entry);
  if (functions == nullptr) return Support::no(file + " is not an adapter of linkscope's");
  if (functions()->layout != LINKSCOPE_MPI_LAYOUT)
    return Support::no(file + " is of another build of linkscope");
  functions_ = functions();
  return Support::yes();
}

std::map<std::string, std::string> MpiLibrary::versions() {
  if (!available()) return {};
  return {{"MPI", version_of(*functions_)}, {"MPI library", file_}};
}

MpiRuntime& MpiLibrary::runtime(const std::function<void()>& prepare) {
  const Support there = available();
  if (!there) throw Error(Fault::unsupported, there.reason());
  if (!runtime_) {
    runtime_ = std::make_unique<MpiRuntime>(*functions_, threads_, prepare);
  } else if (prepare) {
    runtime_->in_its_thread(prepare);
  }
  return *runtime_;
}

void MpiLibrary::finish() {
  if (runtime_) runtime_->finish();
}

Support ask_gpu_awareness(const std::string& memory_kinds) {
  if (names_a_gpu(memory_kinds)) return Support::yes();
  std::string asked;
  const auto add = [&](const std::string& name) { asked += (asked.empty() ? "" : ", ") + name; };
  for (const char* name : queries) {
    auto* const query = loaded<int()>(name);
    if (query == nullptr) continue;
    if (query() == 1) return Support::yes();
    add(name);
  }
  if (auto* const query = loaded<int(int, int*)>(mpich_query)) {
    for (const int kind : mpich_kinds) {
      int yes = 0;
      if (query(kind, &yes) == 0 && yes != 0) return Support::yes();
    }
    add(mpich_query);
  }
  const bool answered = !asked.empty();
  for (const char* name : built_with) {
    const auto* const built = loaded<const bool>(name);
    if (built == nullptr || answered) continue;
    if (*built) return Support::yes();
    add(name);
  }
  return Support::no(asked.empty() ? "it offers no way to ask whether it takes GPU memory"
                                   : "it takes no GPU memory, says " + asked);
}

std::string RankEntry::told() const { return Pack().put(*this).bytes(); }

std::uint64_t require_one_world(const std::vector<std::string>& told) {
  const std::string processes = std::to_string(told.size());
  std::uint64_t fewest = 0;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    const std::string who = "rank " + std::to_string(rank) + " of " + processes;
    Unpack in(told[rank], who + " did not tell its place in MPI's world");
    const auto there = in.get<RankEntry>();
    in.end();
    if (there.size == 1 && told.size() > 1) {
      throw Error(Fault::unsupported,
                  who +
                      " is alone in MPI's world: it was started by no MPI launcher, or by that of "
                      "another MPI than the one it loaded");
    }
    if (std::cmp_not_equal(there.rank, rank) || std::cmp_not_equal(there.size, told.size())) {
      throw Error(Fault::unsupported, who + " is rank " + std::to_string(there.rank) + " of " +
                                          std::to_string(there.size) + " to MPI");
    }
    if (there.slots > 0) fewest = fewest == 0 ? there.slots : std::min(fewest, there.slots);
  }
  return std::max<std::uint64_t>(fewest, 1);
}

MpiRuntime::MpiRuntime(const MpiFunctions& functions, MpiThreads wanted, const std::function<void()>& prepare)
    : functions_(&functions), wanted_(wanted) {
  in_its_thread([&] {
    if (prepare) prepare();
    check(functions.start(wanted, &threads_, &world_), "MPI_Init_thread");
    check(functions.rank_in(world_, &rank_), "MPI_Comm_rank");
    check(functions.size_of(world_, &size_), "MPI_Comm_size");
  });
}

void MpiRuntime::in_its_thread(const std::function<void()>& call) const {
  std::exception_ptr thrown;
  thread_->start([&] {
    try {
      call();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  thread_->wait();
  if (thrown) std::rethrow_exception(thrown);
}

host::Worker* MpiRuntime::worker() const { return for_many() ? nullptr : thread_.get(); }

MpiHandle MpiRuntime::communicator(const std::vector<int>& ranks) {
  std::vector<int> all(static_cast<std::size_t>(size_));
  std::iota(all.begin(), all.end(), 0);
  if (ranks == all) return world_;
  const auto known = communicators_.find(ranks);
  if (known != communicators_.end()) return known->second;
  const auto place = std::find(ranks.begin(), ranks.end(), rank_);
  const bool member = place != ranks.end();
  MpiHandle made = 0;
  in_its_thread([&] {
    check(functions_->split(world_, member ? 0 : -1, static_cast<int>(place - ranks.begin()), &made),
          "MPI_Comm_split");
  });
  communicators_.emplace(ranks, made);
  return made;
}

Tags MpiRuntime::tags() {
  const int first = flows_++ % most_flows * tags_of_a_flow;
  return {first, first + 1, first + 2};
}

std::shared_ptr<void> MpiRuntime::hold(const std::vector<int>& ranks) {
  std::weak_ptr<void>& holder = held_[ranks];
  if (!holder.expired())
    throw Error(Fault::unsupported, "two collectives of the same processes at the same time");
  auto held = std::make_shared<int>(0);
  holder = held;
  return held;
}

std::string version_of(const MpiFunctions& functions) {
  std::array<char, text_room> text{};
  if (functions.library_version(text.data(), text_room) != 0) return "an MPI of unknown version";
  std::istringstream whole(text.data());
  std::string line;
  std::getline(whole, line);
  std::istringstream words(line.substr(0, line.find(',')));  // Open MPI goes on with who built it
  std::string version;
  for (std::string word; words >> word;) version += (version.empty() ? "" : " ") + word;
  return version;
}

std::string MpiRuntime::threads() const {
  const std::string given = name_of(threads_);
  if (threads_ < wanted_) return given + ", not the " + name_of(wanted_) + " asked for";
  return threads_ == threads_single ? "" : given;
}

std::vector<std::string> MpiRuntime::notes() const {
  std::vector<std::string> notes{"by " + version()};
  if (std::string served = threads(); !served.empty()) notes.push_back(std::move(served));
  return notes;
}

Support MpiRuntime::takes_gpu_memory() const {
  std::array<char, text_room> kinds{};
  Support aware = Support::yes();
  in_its_thread([&] {
    if (functions_->memory_kinds(kinds.data(), text_room) != 0) kinds[0] = '\0';
    aware = ask_gpu_awareness(kinds.data());
  });
  return aware ? aware : Support::no(version() + ": " + aware.reason());
}

void MpiRuntime::visit(const DeviceId& device) {
  if (device.kind == DeviceKind::gpu && !home_) home_ = device;
}

std::string MpiRuntime::away_from_home(const DeviceId& device) const {
  if (device.kind != DeviceKind::gpu || !home_ || device == *home_) return {};
  return "this process called MPI with " + home_->text() +
         " before: an MPI may keep what it set up for that GPU and be slower with this one";
}

Error MpiRuntime::failure(int code, const std::string& call) const {
  std::array<char, text_room> text{};
  const bool told = functions_->error_text(code, text.data(), text_room) == 0;
  const std::string words = told ? one_line(text.data()) : "no words for this code";
  return {Fault::broken, call + ": " + words + " (" + std::to_string(code) + ")"};
}

void MpiRuntime::check(int code, const std::string& call) const {
  if (code != 0) throw failure(code, call);
}

std::shared_ptr<void> MpiRuntime::turn() {
  if (for_many()) return nullptr;
  if (!turn_.expired()) {
    throw Error(Fault::unsupported,
                "two flows at the same time call MPI in one process, and " + version() +
                    (wanted_ == threads_multiple
                         ? " serves only one thread"
                         : " was started for one thread: set LINKSCOPE_MPI_THREADS=multiple"));
  }
  auto taken = std::make_shared<int>(0);
  turn_ = taken;
  return taken;
}

void MpiRuntime::finish() {
  in_its_thread([&] { check(functions_->finish(), "MPI_Finalize"); });
}

}  // namespace linkscope::mpi
