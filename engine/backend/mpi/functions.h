// MpiFunctions: what linkscope uses of MPI, as a table that an adapter fills. C, so that any site's mpicc compiles it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
namespace linkscope::mpi {
extern "C" {
#endif

/// Changes with every change of this file: an adapter of another build is not used.
#define LINKSCOPE_MPI_LAYOUT 4

/// A communicator or a window of the MPI behind the table; 0: none.
typedef uintptr_t MpiHandle;  // NOLINT(modernize-use-using): C

enum MpiElement {
  element_byte,
  element_uint16,
  element_int32,
  element_float32,
  element_float16,
  element_bfloat16
};
/// Types that applications reduce between messages.
enum MpiNumber { number_int32, number_int64, number_float64 };
enum MpiReduce { reduce_sum, reduce_min, reduce_max };
/// The mpi.h that an adapter was compiled against.
enum MpiHeader { header_of_standard_abi, header_of_site };
/// The outcome of adding one and one. unnamed: the adapter's mpi.h has no such type; refused: the library has no sum of
/// it.
enum MpiSum { sum_right, sum_unnamed, sum_refused, sum_wrong };
/// MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED (or MPI_THREAD_SERIALIZED, where given), MPI_THREAD_MULTIPLE.
enum MpiThreads { threads_single, threads_funneled, threads_multiple };

/// Functions return MPI's own code: 0, or what error_text() explains. Counts above INT_MAX need an MPI of version 4;
/// ranks are those of the communicator given, or of the one that a window was made on. Wherever a collective has a
/// `from` of null, it works in place.
struct MpiFunctions {
  int layout;  ///< LINKSCOPE_MPI_LAYOUT
  enum MpiHeader header;
  size_t request_bytes;
  int64_t most_elements;  ///< of one message

  int (*library_version)(char* text, int room);
  /// The kinds of memory it takes, as MPI 4.1's info key mpi_memory_alloc_kinds lists them; empty before 4.
  int (*memory_kinds)(char* text, int room);
  int (*error_text)(int code, char* text, int room);

  /// Starts MPI, once in a process, and gives a communicator of all its processes. Errors are returned from then on.
  int (*start)(enum MpiThreads wanted, enum MpiThreads* given, MpiHandle* world);
  int (*finish)(void);  // NOLINT(modernize-redundant-void-arg): C
  int (*rank_in)(MpiHandle communicator, int* rank);
  int (*size_of)(MpiHandle communicator, int* size);
  /// Processes of the same colour get a communicator, in the order of their keys; those below 0 get none.
  int (*split)(MpiHandle communicator, int colour, int key, MpiHandle* part);

  int (*send)(const void* from, int64_t bytes, int rank, int tag, MpiHandle communicator);
  int (*receive)(void* to, int64_t bytes, int rank, int tag, MpiHandle communicator);
  /// An empty message in each direction: both ranks are here.
  int (*meet)(int rank, int tag, MpiHandle communicator);
  /// `requests`: an array of requests of request_bytes each, of which this message takes number `index`.
  int (*begin_send)(const void* from, int64_t bytes, int rank, int tag, MpiHandle communicator,
                    void* requests, int index);
  int (*begin_receive)(void* to, int64_t bytes, int rank, int tag, MpiHandle communicator, void* requests,
                       int index);
  int (*wait_all)(int count, void* requests, int first);
  /// Makes `count` requests from number `first` on ones of nothing, which the three below pass over.
  void (*clear)(int count, void* requests, int first);
  /// Tells whether all of the requests are over.
  int (*test_all)(int count, void* requests, int first, int* over);
  /// One of these receives that is over: its number from `first` on and its bytes; -1: none. It then is one of nothing.
  int (*test_any)(int count, void* requests, int first, int* index, int64_t* bytes);
  /// Takes back receives that are under way.
  int (*cancel_all)(int count, void* requests, int first);

  /// Adds up elements of the type, which this MPI may not have or not be able to add.
  enum MpiSum (*try_sum)(enum MpiElement type);
  int (*barrier)(MpiHandle communicator);
  int (*all_reduce)(const void* from, void* to, int64_t count, enum MpiElement type, MpiHandle communicator);
  /// An all-reduce in place of numbers in host memory; the second begins one, which takes request number `index`.
  int (*reduce_numbers)(void* numbers, int count, enum MpiNumber type, enum MpiReduce by,
                        MpiHandle communicator);
  int (*begin_reduce_numbers)(void* numbers, int count, enum MpiNumber type, enum MpiReduce by,
                              MpiHandle communicator, void* requests, int index);
  int (*reduce)(const void* from, void* to, int64_t count, enum MpiElement type, int root,
                MpiHandle communicator);
  int (*broadcast)(void* at, int64_t count, enum MpiElement type, int root, MpiHandle communicator);
  /// `count`: elements that one member receives; of all_gather and all_to_all from each member.
  int (*reduce_scatter)(const void* from, void* to, int64_t count, enum MpiElement type,
                        MpiHandle communicator);
  int (*all_gather)(const void* from, void* to, int64_t count, enum MpiElement type, MpiHandle communicator);
  int (*all_to_all)(const void* from, void* to, int64_t count, enum MpiElement type, MpiHandle communicator);

  /// Collective: memory of each process that the others of the communicator may put into and get from.
  int (*expose)(void* base, int64_t bytes, MpiHandle communicator, MpiHandle* window);
  int (*withdraw)(MpiHandle* window);
  /// The calls of put() and get() at `rank` lie between these two.
  int (*lock)(int rank, MpiHandle window);
  int (*unlock)(int rank, MpiHandle window);
  int (*put)(const void* from, int64_t bytes, int rank, int64_t offset, MpiHandle window);
  int (*get)(void* to, int64_t bytes, int rank, int64_t offset, MpiHandle window);
  /// All puts and gets so far are complete at both ends.
  int (*flush)(int rank, MpiHandle window);
};

/// The one symbol of an adapter.
const struct MpiFunctions* linkscope_mpi_functions(void);

#ifdef __cplusplus
}
}  // namespace linkscope::mpi
#endif
