// MpiLibrary: an MPI looked for and loaded at run time. MpiRuntime: the same started in this process, its communicators,
// and what its return codes mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/workers.hpp"
#include "backend/mpi/functions.h"
#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "model/device.hpp"

namespace linkscope::mpi {

/// The library's name and number, as it says them itself; may be asked before MPI is started.
[[nodiscard]] std::string version_of(const MpiFunctions& functions);

/// Asks every way there is whether MPI takes addresses of GPU memory, after it has started: `memory_kinds` is what MPI
/// 4.1's info key mpi_memory_alloc_kinds says ("system,mpi,cuda"); then the functions that MPICH, MVAPICH and Open MPI
/// have added. No: with what was asked.
[[nodiscard]] Support ask_gpu_awareness(const std::string& memory_kinds);

/// Tags that no other flow under way has: of messages, of the partners' barriers, of answers.
struct Tags {
  int message = 0;
  int barrier = 1;
  int answer = 2;
};

/// A process as MPI sees it: processes tell one another before they count on it.
struct RankEntry {
  int rank = 0;             ///< of MPI's world
  int size = 1;             ///< of MPI's world
  std::uint64_t slots = 0;  ///< of the process's arenas; 0: it has none

  [[nodiscard]] std::string told() const;
};

/// Takes what all processes told, by rank, and returns the slots that every process with memory has: machines with
/// other caches have other numbers; 1 where none has any. Throws Error{unsupported} unless MPI's ranks are those of the
/// run: MPI_Init in processes that its launcher did not start makes each a world of its own.
[[nodiscard]] std::uint64_t require_one_world(const std::vector<std::string>& told);

/// MPI is started, called and ended by one thread of its own. Only where it was started for many may transfers call it
/// from others.
class MpiRuntime {
 public:
  /// Starts MPI; that thread calls `prepare` first. Throws Error{broken}, and what `prepare` throws.
  MpiRuntime(const MpiFunctions& functions, MpiThreads wanted, const std::function<void()>& prepare = {});

  /// MPI's thread makes this call, and the caller waits for it. Throws what `call` throws.
  void in_its_thread(const std::function<void()>& call) const;
  /// Returns MPI's thread, which carries out transfers. Null: any thread may, since MPI was asked for many and serves
  /// them.
  [[nodiscard]] host::Worker* worker() const;
  [[nodiscard]] const MpiFunctions& functions() const { return *functions_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// The communicator of all processes, a duplicate of MPI_COMM_WORLD.
  [[nodiscard]] MpiHandle world() const { return world_; }
  /// The communicator of these ranks of world(), in this order; 0 in all other processes. The first call is collective
  /// over all processes. Throws Error{broken}.
  [[nodiscard]] MpiHandle communicator(const std::vector<int>& ranks);

  /// For one flow. Called by all processes for all flows alike, so that both ends get the same.
  [[nodiscard]] Tags tags();
  /// Held by a collective that is under way on these ranks: no two may use one communicator at a time. Called by all
  /// processes alike. Throws Error{unsupported} where it is held.
  [[nodiscard]] std::shared_ptr<void> hold(const std::vector<int>& ranks);

  [[nodiscard]] std::string version() const { return version_of(*functions_); }
  /// "MPI_THREAD_MULTIPLE": the level that it serves, where that is more than MPI_THREAD_SINGLE, or another than it was
  /// asked for; else empty.
  [[nodiscard]] std::string threads() const;
  /// Names the library and threads(), for rows.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Tells whether MPI says that it takes addresses of GPU memory; it is never tried out.
  [[nodiscard]] Support takes_gpu_memory() const;
  /// Takes note that this process calls MPI with memory on `device`; the first GPU is its home.
  void visit(const DeviceId& device);
  /// Nothing while it calls with memory of its home alone; else a remark.
  [[nodiscard]] std::string away_from_home(const DeviceId& device) const;
  /// Nothing for code 0; else throws Error{broken} with MPI's own words.
  void check(int code, const std::string& call) const;
  [[nodiscard]] Error failure(int code, const std::string& call) const;

  /// Held by each transfer made ready: MPI may have been started for one thread, and transfers at the same time take
  /// one each. Throws Error{unsupported} where that is so and another holds one.
  [[nodiscard]] std::shared_ptr<void> turn();
  void finish();

 private:
  [[nodiscard]] bool for_many() const { return wanted_ == threads_multiple && threads_ == threads_multiple; }

  std::unique_ptr<host::Worker> thread_ = std::make_unique<host::Worker>();
  const MpiFunctions* functions_;
  MpiThreads wanted_;
  MpiThreads threads_ = threads_single;  ///< given
  std::optional<DeviceId> home_;
  MpiHandle world_ = 0;
  int rank_ = 0;
  int size_ = 1;
  std::map<std::vector<int>, MpiHandle> communicators_;
  std::map<std::vector<int>, std::weak_ptr<void>> held_;
  int flows_ = 0;
  std::weak_ptr<void> turn_;
};

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
