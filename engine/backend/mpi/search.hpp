// Search: where an MPI may be found on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace linkscope::mpi {

/// What the search starts from.
struct SearchRoots {
  std::string asked;                                ///< LINKSCOPE_MPI; empty: nothing in particular
  std::filesystem::path engine;                     ///< the folder that holds the engine
  std::vector<std::filesystem::path> environments;  ///< Python environments, whose lib/ may hold an MPI

  /// With the folder of the running program.
  static SearchRoots of(std::string asked, const std::vector<std::string>& environments);
};

/// What a file found there should be.
enum class FileKind {
  adapter,  ///< liblinkscope-mpi-*.so, which brings its MPI along
  library,  ///< an MPI library that has the standard ABI
  either,   ///< what the user named
};

struct Candidate {
  std::filesystem::path file;  ///< a bare name: wherever the loader looks
  FileKind kind = FileKind::either;
};

/// In the order in which they are tried: what was asked for and nothing else; else the site's adapter beside the
/// engine, then libmpi_abi by the loader's path, in the Python environments, and in a lib/ that the engine is below (a
/// wheel's).
[[nodiscard]] std::vector<Candidate> candidates(const SearchRoots& surroundings);
/// The same in words: why nothing was found.
[[nodiscard]] std::string places(const SearchRoots& surroundings);

/// The adapter to the standard ABI, which every build has.
[[nodiscard]] std::filesystem::path abi_adapter(const SearchRoots& surroundings);

}  // namespace linkscope::mpi
