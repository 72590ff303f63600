#include "backend/mpi/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"

namespace linkscope::mpi {

namespace {

constexpr const char* entry = "linkscope_mpi_functions";

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string loader_says() {
  const char* text = dlerror();
  return one_line(text == nullptr ? "the loader gives no reason" : text);
}

/// Global, so that an adapter and MPI's own plug-ins find its symbols.
void* open(const std::filesystem::path& file) { return dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL); }

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// MPI 5.0 is major version 1; a library of another ABI has no such function, or says -1.
bool has_standard_abi(void* library) {
  int major = -1;
  int minor = -1;
  auto* const version = symbol<int(int*, int*)>(library, "MPI_Abi_get_version");
  return version != nullptr && version(&major, &minor) == 0 && major == 1;
}

/// Where `library`, or what it needs, has its MPI from; `otherwise` where nobody can tell.
std::string file_of_mpi(void* library, const std::string& otherwise) {
  Dl_info found{};
  void* const function = dlsym(library, "MPI_Get_library_version");
  const bool known = function != nullptr && dladdr(function, &found) != 0 && found.dli_fname != nullptr;
  return known ? found.dli_fname : otherwise;
}

/// A bare name may be anywhere; a path that does not exist needs no loader to say so.
bool may_exist(const std::filesystem::path& file) {
  std::error_code unknown;
  return !file.has_parent_path() || std::filesystem::exists(file, unknown);
}

}  // namespace

Support MpiLibrary::available() {
  if (!outcome_) outcome_ = load();
  return *outcome_;
}

Support MpiLibrary::load() {
  std::string found;  // and unusable
  for (const Candidate& candidate : candidates(surroundings_)) {
    if (!may_exist(candidate.file)) continue;
    const Support loaded = load(candidate);
    if (loaded) return loaded;
    if (candidate.file.has_parent_path() || candidate.kind == FileKind::either)
      found += "; " + loaded.reason();
  }
  return Support::no("no MPI library: looked for " + places(surroundings_) + found +
                     (surroundings_.asked.empty() ? "; set LINKSCOPE_MPI to one" : ""));
}

Support MpiLibrary::load(const Candidate& candidate) {
  void* const library = open(candidate.file);
  if (library == nullptr) return Support::no(loader_says());
  file_ = file_of_mpi(library, candidate.file.string());
  if (candidate.kind != FileKind::library && symbol<void>(library, entry) != nullptr)
    return adopt(library, candidate.file);
  if (!has_standard_abi(library)) {
    return Support::no(candidate.file.string() +
                       " has not the standard ABI of MPI 5.0: build linkscope with its mpicc, as by "
                       "`MPICC=PATH make setup`");
  }
  const std::filesystem::path adapter = abi_adapter(surroundings_);
  void* const adapting = open(adapter);
  return adapting == nullptr ? Support::no(loader_says()) : adopt(adapting, adapter);
}

Support MpiLibrary::adopt(void* adapter, const std::string& file) {
  auto* const functions = symbol<const MpiFunctions*()>(adapter, entry);
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

MpiRuntime& MpiLibrary::session(const std::function<void()>& prepare) {
  const Support there = available();
  if (!there) throw Error(Fault::unsupported, there.reason());
  if (!session_) {
    session_ = std::make_unique<MpiRuntime>(*functions_, threads_, prepare);
  } else if (prepare) {
    session_->in_its_thread(prepare);
  }
  return *session_;
}

void MpiLibrary::finish() {
  if (session_) session_->finish();
}

}  // namespace linkscope::mpi
