// XcclLibrary: NCCL or RCCL, found and loaded at run time; and the part of their C interface that is used here, which the
// two have in common (NCCL's manual, "API").
#pragma once

#include <array>
#include <cstddef>
#include <optional>
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

/// The functions, by their names without the prefix. Found by Library.
struct Api {
  Result (*get_version)(int* version);
  Result (*get_unique_id)(UniqueId* id);
  const char* (*get_error_string)(Result result);
  /// From NCCL 2.13 on; else null.
  const char* (*get_last_error)(Comm* comm);
  Result (*comm_init_rank)(Comm** comm, int members, UniqueId id, int member);
  Result (*comm_destroy)(Comm* comm);
  Result (*comm_abort)(Comm* comm);
  Result (*comm_get_async_error)(Comm* comm, Result* error);
  Result (*group_start)();
  Result (*group_end)();
  Result (*all_reduce)(const void* from, void* to, std::size_t count, DataType type, Reduction reduction,
                       Comm* comm, Stream stream);
  Result (*reduce)(const void* from, void* to, std::size_t count, DataType type, Reduction reduction,
                   int root, Comm* comm, Stream stream);
  Result (*broadcast)(const void* from, void* to, std::size_t count, DataType type, int root, Comm* comm,
                      Stream stream);
  Result (*reduce_scatter)(const void* from, void* to, std::size_t received, DataType type,
                           Reduction reduction, Comm* comm, Stream stream);
  Result (*all_gather)(const void* from, void* to, std::size_t sent, DataType type, Comm* comm,
                       Stream stream);
  /// NCCL from 2.28 on, and RCCL; else null. Counts what goes to each.
  Result (*all_to_all)(const void* from, void* to, std::size_t count, DataType type, Comm* comm,
                       Stream stream);
  Result (*send)(const void* from, std::size_t count, DataType type, int peer, Comm* comm, Stream stream);
  Result (*recv)(void* to, std::size_t count, DataType type, int peer, Comm* comm, Stream stream);
  /// On the calling thread's device. These two from NCCL 2.19 on, both or neither; else null.
  Result (*mem_alloc)(void** address, std::size_t bytes);
  Result (*mem_free)(void* address);
  /// These two likewise.
  Result (*comm_register)(Comm* comm, void* address, std::size_t bytes, void** handle);
  Result (*comm_deregister)(Comm* comm, void* handle);
};

/// The library to load, and places where it may be.
struct Search {
  std::string wanted;                ///< a path: this one and no other; empty: the loader is asked for `file`
  std::vector<std::string> folders;  ///< looked in where the loader knows of none
  std::string name;                  ///< nccl, rccl
  std::string file;                  ///< what the loader knows it by: libnccl.so.2
};

/// Returns the folders in which PyPI's packages and PyTorch's put it in these Python environments, where they exist.
[[nodiscard]] std::vector<std::string> library_folders(const std::vector<std::string>& environments);

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
  [[nodiscard]] Support lacks(const char* symbol) const;

  std::string name_;
  std::string problem_;
  std::string version_;
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
