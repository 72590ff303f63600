#include "backend/mpi/search.hpp"

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
std::vector<std::filesystem::path> folders(const SearchRoots& surroundings) {
  std::vector<std::filesystem::path> found;
  const auto add = [&](const std::filesystem::path& folder) {
    if (std::find(found.begin(), found.end(), folder) == found.end()) found.push_back(folder);
  };
  for (const auto& environment : surroundings.environments) add(environment / "lib");
  for (auto at = surroundings.engine; at.has_relative_path(); at = at.parent_path()) {
    if (at.filename() == "lib" || at.filename() == "lib64") add(at);
  }
  return found;
}

}  // namespace

SearchRoots SearchRoots::of(std::string asked, const std::vector<std::string>& environments) {
  std::error_code unknown;
  const auto engine = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return {std::move(asked), engine.parent_path(), {environments.begin(), environments.end()}};
}

std::vector<Candidate> candidates(const SearchRoots& surroundings) {
  if (!surroundings.asked.empty()) return {{surroundings.asked, FileKind::either}};
  std::vector<Candidate> all{{surroundings.engine / site_adapter, FileKind::adapter}};
  for (const char* name : library_names) all.push_back({name, FileKind::library});
  for (const auto& folder : folders(surroundings)) {
    for (const char* name : library_names) all.push_back({folder / name, FileKind::library});
  }
  return all;
}

std::string places(const SearchRoots& surroundings) {
  if (!surroundings.asked.empty()) return surroundings.asked + " (LINKSCOPE_MPI)";
  std::string text = std::string(site_adapter) + " in " + surroundings.engine.string() +
                     ", libmpi_abi.so in the loader's path";
  for (const auto& folder : folders(surroundings)) text += ", in " + folder.string();
  return text;
}

std::filesystem::path abi_adapter(const SearchRoots& surroundings) {
  return surroundings.engine / "liblinkscope-mpi-abi.so";
}

}  // namespace linkscope::mpi
