// The part of NCCL's and RCCL's C interface that is used here; the two have it in common (NCCL's manual, "API").
#pragma once

#include <array>
#include <cstddef>

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

}  // namespace linkscope::xccl
