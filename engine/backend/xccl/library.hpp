// XcclLibrary: NCCL or RCCL, found and loaded at run time; and the part of their C interface that is used here, which the
// two have in common (NCCL's manual, "API").
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/shared_library.hpp"

namespace linkscope::xccl {

/// A communicator as the library knows it.
struct Comm;
/// A stream of the GPU's runtime.
using Stream = void*;

struct UniqueId {
  std::array<char, 128> bytes;
};

/// The answers that mean something here; all others are faults.
enum class Result : int { success = 0, in_progress = 7 };
enum class DataType : int {
  int8 = 0,
  int32 = 2,
  int64 = 4,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9
};
enum class Reduction : int { sum = 0, max = 2, min = 3 };

/// How freely a communicator's calls take the GPU's processors, as the library numbers it (NCCL_CTA_POLICY_*).
enum class CtaPolicy : int { automatic = 0, efficiency = 1, zero = 2 };

/// What a communicator is made with.
struct CommunicatorSettings {
  CtaPolicy policy = CtaPolicy::automatic;
  int ctas = 0;  ///< blocks of a kernel, at least and at most; 0: the library's choice

  auto operator<=>(const CommunicatorSettings&) const = default;
};

/// The library's ncclConfig_t as of NCCL 2.27. Later fields are left out, as its size tells the library.
struct Config;

/// The library's ncclCollConfig_t as of NCCL 2.31: settings of one call.
struct CallConfig {
  static constexpr int unset = std::numeric_limits<int>::min();

  std::size_t size = sizeof(CallConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 0;
  void* further = nullptr;
  int least_ctas = unset;
  int most_ctas = unset;
  int nvls_ctas = unset;
  int cluster_size = unset;
  const char* algorithm = nullptr;  ///< "RING_SIMPLE", "SYMK_ST"
  int forced = 1;                   ///< an algorithm that cannot be is an error
  int policy = unset;
  std::uint64_t tag = 0;
};

/// A collective's function, and from NCCL 2.31 on the one that takes settings of the call, else null.
template <class... Arguments>
struct CollectiveCall {
  Result (*plain)(Arguments... arguments);
  Result (*configured)(Arguments... arguments, const CallConfig* config);

  Result operator()(Arguments... arguments) const { return plain(arguments...); }
  /// Without settings where `config` is null.
  Result operator()(const CallConfig* config, Arguments... arguments) const {
    return config == nullptr ? plain(arguments...) : configured(arguments..., config);
  }
};

/// The functions, by their names without the prefix. Found by Library.
struct Api {
  Result (*get_version)(int* version);
  Result (*get_unique_id)(UniqueId* id);
  const char* (*get_error_string)(Result result);
  /// From NCCL 2.13 on; else null.
  const char* (*get_last_error)(Comm* comm);
  Result (*comm_init_rank)(Comm** comm, int members, UniqueId id, int member);
  /// From NCCL 2.14 on; else null.
  Result (*comm_init_rank_config)(Comm** comm, int members, UniqueId id, int member, Config* config);
  Result (*comm_destroy)(Comm* comm);
  Result (*comm_abort)(Comm* comm);
  Result (*comm_get_async_error)(Comm* comm, Result* error);
  Result (*group_start)();
  Result (*group_end)();
  // From, to, elements (of reduce-scatter those received, of all-gather those sent, of all-to-all those for each), type;
  // then reduction, root, communicator and stream, as far as it has them.
  CollectiveCall<const void*, void*, std::size_t, DataType, Reduction, Comm*, Stream> all_reduce;
  CollectiveCall<const void*, void*, std::size_t, DataType, Reduction, int, Comm*, Stream> reduce;
  CollectiveCall<const void*, void*, std::size_t, DataType, int, Comm*, Stream> broadcast;
  CollectiveCall<const void*, void*, std::size_t, DataType, Reduction, Comm*, Stream> reduce_scatter;
  CollectiveCall<const void*, void*, std::size_t, DataType, Comm*, Stream> all_gather;
  /// Its functions are null before NCCL 2.28, not in RCCL.
  CollectiveCall<const void*, void*, std::size_t, DataType, Comm*, Stream> all_to_all;
  Result (*send)(const void* from, std::size_t count, DataType type, int peer, Comm* comm, Stream stream);
  Result (*recv)(void* to, std::size_t count, DataType type, int peer, Comm* comm, Stream stream);
  /// On the calling thread's device. These two from NCCL 2.19 on, both or neither; else null.
  Result (*mem_alloc)(void** address, std::size_t bytes);
  Result (*mem_free)(void* address);
  /// These two likewise.
  Result (*comm_register)(Comm* comm, void* address, std::size_t bytes, void** handle);
  Result (*comm_deregister)(Comm* comm, void* handle);
  /// These two likewise, from NCCL 2.27 on. All members register, in one order.
  Result (*comm_window_register)(Comm* comm, void* address, std::size_t bytes, void** window, int flags);
  Result (*comm_window_deregister)(Comm* comm, void* window);
};

/// The library to load, and places where it may be.
struct Search {
  std::string wanted;                ///< a path: this one and no other; empty: the loader is asked for `file`
  std::vector<std::string> folders;  ///< looked in where the loader knows of none
  std::string name;                  ///< nccl, rccl
  std::string file;                  ///< what the loader knows it by: libnccl.so.2
};

/// PyPI's packages of NCCL, and what PyTorch brings along.
inline constexpr std::array<const char*, 2> xccl_packages{"nvidia/nccl/lib", "torch/lib"};
/// Returns the folders of these packages in these Python environments, where they exist.
[[nodiscard]] std::vector<std::string> library_folders(const std::vector<std::string>& environments,
                                                       std::span<const char* const> packages = xccl_packages);

/// Stays loaded until the process ends: it has threads of its own. It finds the environment as the user has it.
class XcclLibrary {
 public:
  /// Never throws because the library is missing: problem() then says where it was looked for.
  explicit XcclLibrary(const Search& search);

  /// One line; empty where all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// "2.28.9"; empty where there is none.
  [[nodiscard]] const std::string& version() const { return version_; }
  /// The file that its functions are from, as the loader says; empty where there is none.
  [[nodiscard]] const std::string& file() const { return file_; }
  /// Only where problem() is empty.
  [[nodiscard]] const Api& api() const { return api_; }
  /// Tells whether the library has an allocator of its own (Api::mem_alloc).
  [[nodiscard]] Support allocates() const;
  /// Tells whether buffers can be registered with its communicators (Api::comm_register).
  [[nodiscard]] Support registers() const;
  /// Tells whether buffers can be registered as windows (Api::comm_window_register).
  [[nodiscard]] Support has_windows() const;
  /// Tells whether communicators can be made with these settings.
  [[nodiscard]] Support takes(const CommunicatorSettings& settings) const;
  /// Tells whether its calls take settings of their own.
  [[nodiscard]] Support configures_calls() const;
  /// Returns settings by which a call takes one of these algorithms, by the library's names for them ("RING_SIMPLE").
  /// `algorithms` outlives them.
  [[nodiscard]] CallConfig call_config(const std::string& algorithms) const;
  /// Makes `member` of `members`, as ncclCommInitRank and ncclCommInitRankConfig do. Throws Error{broken}.
  void init(Comm** comm, int members, const UniqueId& id, int member,
            const CommunicatorSettings& settings) const;
  /// Throws Error{unsupported} where a registration that `call` made has given nothing.
  void require(const void* handle, const char* call) const;
  /// Registers [address, address + bytes) for the calls of `comm`; what Api::comm_deregister takes. Throws
  /// Error{broken} with the library's words, and Error{unsupported} where it says that all is well and has registered
  /// nothing.
  [[nodiscard]] void* register_buffer(Comm* comm, void* address, std::size_t bytes) const;
  /// A remark for rows: version, what is set of the library's variables, and whether it may use NVLink SHARP, where
  /// `multicast` is whether the GPUs report what that needs. Which algorithm and protocol it takes no function of it
  /// tells.
  [[nodiscard]] std::string note(std::optional<bool> multicast) const;

  /// Throws Error{broken} that names the call, unless `result` is success, with what the library says of it.
  void check(Result result, const char* call) const;

 private:
  bool load(const std::string& file, std::string& tried);
  [[nodiscard]] std::string missing_function(const SharedLibrary& library);
  void find_newer(const SharedLibrary& library);
  [[nodiscard]] Support lacks(const char* symbol, const char* since) const;

  std::string name_;
  std::string problem_;
  std::string version_;
  int version_code_ = 0;  ///< 22809
  std::string file_;
  std::string settings_;  ///< "NCCL_ALGO=Ring, NCCL_PROTO=LL"; empty where nothing is set
  std::string nvls_;      ///< NCCL_NVLS_ENABLE
  Api api_{};
};

/// "2.28.9" from 22809, and "2.8.4" from 2804 as it was before 2.9.
[[nodiscard]] std::string version_text(int code);

/// Calls made between its beginning and end() go out together.
class Group {
 public:
  explicit Group(const XcclLibrary& library);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void end();

 private:
  const XcclLibrary& library_;
  bool ended_ = false;
};

}  // namespace linkscope::xccl
