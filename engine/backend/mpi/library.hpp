// MpiLibrary: an MPI looked for and loaded at run time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/mpi/functions.h"
#include "backend/mpi/mpi_runtime.hpp"
#include "base/error.hpp"
#include "base/shared_library.hpp"

namespace linkscope::mpi {

/// Places that the search starts from.
struct SearchRoots {
  std::string asked;                                ///< LINKSCOPE_MPI; empty: nothing in particular
  std::filesystem::path engine;                     ///< the folder that holds the engine
  std::vector<std::filesystem::path> environments;  ///< Python environments, whose lib/ may hold an MPI

  /// With the folder of the running program.
  static SearchRoots of(std::string asked, const std::vector<std::string>& environments);
};

/// Returns the files in the order in which they are tried: the one asked for alone; else the site's adapter
/// (liblinkscope-mpi-site.so, which brings its MPI along) beside the engine, then libmpi_abi by the loader's path, in the
/// Python environments, and in a lib/ that the engine is below (a wheel's). A bare name is wherever the loader looks.
[[nodiscard]] std::vector<std::filesystem::path> candidates(const SearchRoots& roots);

/// Looks for an MPI when first asked for one, and starts it when a flow first needs it. It stays loaded until the
/// process ends: no MPI survives being unloaded.
class MpiLibrary {
 public:
  MpiLibrary(SearchRoots roots, MpiThreads threads) : roots_(std::move(roots)), threads_(threads) {}

  /// Tells whether there is an MPI; the reason says what was looked for and where.
  [[nodiscard]] Support available();
  /// "MPI" and "MPI library": what it calls itself, and its file. Empty where there is none.
  [[nodiscard]] std::map<std::string, std::string> versions();
  /// Starts MPI at the first call: collective over all processes of the run. MPI's thread calls `prepare` at every
  /// call, at the first before MPI starts. Throws Error{unsupported} where there is none, Error{broken} where it does
  /// not start, and what `prepare` throws.
  [[nodiscard]] MpiRuntime& runtime(const std::function<void()>& prepare = {});
  /// Ends MPI where it was started: collective, and only while every process is alive and idle.
  void finish();

 private:
  [[nodiscard]] Support load();
  [[nodiscard]] Support load(const std::filesystem::path& file);
  [[nodiscard]] Support adopt(const SharedLibrary& adapter, const std::string& file);

  SearchRoots roots_;
  MpiThreads threads_;
  std::optional<Support> outcome_;
  const MpiFunctions* functions_ = nullptr;
  std::string file_;  ///< of the MPI, not of an adapter to it
  std::unique_ptr<MpiRuntime> runtime_;
};

}  // namespace linkscope::mpi
