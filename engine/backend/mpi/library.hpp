// MpiLibrary: an MPI found and loaded at run time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/mpi/functions.h"
#include "backend/mpi/mpi_runtime.hpp"
#include "backend/mpi/search.hpp"
#include "model/support.hpp"

namespace linkscope::mpi {

/// Looks for an MPI when first asked for one, and starts it when a flow first needs it. It stays loaded until the
/// process ends: no MPI survives being unloaded.
class MpiLibrary {
 public:
  MpiLibrary(SearchRoots surroundings, MpiThreads threads)
      : surroundings_(std::move(surroundings)), threads_(threads) {}

  /// Whether there is one; where not, what was looked for and where.
  [[nodiscard]] Support available();
  /// "MPI" and "MPI library": what it calls itself, and its file. Empty where there is none.
  [[nodiscard]] std::map<std::string, std::string> versions();
  /// Starts MPI at the first call: collective over all processes of the run. MPI's thread calls `prepare` at every
  /// call, at the first before MPI starts. Throws Error{unsupported} where there is none, Error{broken} where it does
  /// not start, and what `prepare` throws.
  [[nodiscard]] MpiRuntime& session(const std::function<void()>& prepare = {});
  /// Ends MPI where it was started: collective, and only while every process is alive and idle.
  void finish();

 private:
  [[nodiscard]] Support load();
  [[nodiscard]] Support load(const Candidate& candidate);
  [[nodiscard]] Support adopt(void* adapter, const std::string& file);

  SearchRoots surroundings_;
  MpiThreads threads_;
  std::optional<Support> outcome_;
  const MpiFunctions* functions_ = nullptr;
  std::string file_;  ///< of the MPI, not of an adapter to it
  std::unique_ptr<MpiRuntime> session_;
};

}  // namespace linkscope::mpi
