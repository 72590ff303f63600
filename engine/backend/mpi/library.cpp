#include "backend/mpi/library.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

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

}  // namespace linkscope::mpi
