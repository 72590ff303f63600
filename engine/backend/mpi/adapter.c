// The adapter: MpiFunctions by one MPI's <mpi.h>. Compiled twice: against abi/mpi.h, and by the site's mpicc.
#include <limits.h>
#include <mpi.h>
#include <string.h>

#include "backend/mpi/functions.h"

// Where Open MPI has 16-bit types, as an extension.
#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

// What counts above INT_MAX take: MPI 4 has each function a second time.
#if MPI_VERSION >= 4
#define LARGE(call) call
#define MOST_ELEMENTS INT64_MAX
#else
#define LARGE(call) MPI_ERR_COUNT
#define MOST_ELEMENTS INT_MAX
#endif

static MPI_Comm communicator_of(MpiHandle handle) {
  MPI_Comm communicator;
  memcpy(&communicator, &handle, sizeof communicator);
  return communicator;
}

static MpiHandle handle_of(MPI_Comm communicator) {
  MpiHandle handle = 0;
  memcpy(&handle, &communicator, sizeof communicator);
  return handle;
}

static MPI_Win window_of(MpiHandle handle) {
  MPI_Win window;
  memcpy(&window, &handle, sizeof window);
  return window;
}

static MPI_Datatype type_of(enum MpiElement type) {
  switch (type) {
    case element_byte:
      return MPI_BYTE;
    case element_uint16:
      return MPI_UINT16_T;
    case element_int32:
      return MPI_INT32_T;
    case element_float32:
      return MPI_FLOAT;
    case element_float16:
#if defined(MPIX_C_FLOAT16)
      return MPIX_C_FLOAT16;
#elif defined(MPI_REAL2)
      return MPI_REAL2;
#else
      break;
#endif
    case element_bfloat16:
#ifdef MPIX_BFLOAT16
      return MPIX_BFLOAT16;
#else
      break;
#endif
  }
  return MPI_DATATYPE_NULL;
}

static const void* or_in_place(const void* from) { return from == NULL ? MPI_IN_PLACE : from; }

static int library_version(char* text, int room) {
  char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  const int code = MPI_Get_library_version(whole, &length);
  strncpy(text, whole, (size_t)room - 1);
  text[room - 1] = '\0';
  return code;
}

static int memory_kinds(char* text, int room) {
  text[0] = '\0';
#if MPI_VERSION >= 4
  MPI_Info info = MPI_INFO_NULL;
  int there = 0;
  int code = MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, text, &there);
  MPI_Info_free(&info);
  if (!there) text[0] = '\0';
  return code;
#else
  return room > 0 ? MPI_SUCCESS : MPI_ERR_COUNT;
#endif
}

static int error_text(int code, char* text, int room) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  const int status = MPI_Error_string(code, whole, &length);
  strncpy(text, whole, (size_t)room - 1);
  text[room - 1] = '\0';
  return status;
}

static int start(enum MpiThreads wanted, enum MpiThreads* given, MpiHandle* world) {
  int running = 0;
  int level = 0;
  int code = MPI_Initialized(&running);
  if (code == MPI_SUCCESS && !running) {
    const int asked = wanted == threads_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    code = MPI_Init_thread(NULL, NULL, asked, &level);
  }
  if (code != MPI_SUCCESS) return code;
  code = MPI_Query_thread(&level);
  *given = level >= MPI_THREAD_MULTIPLE   ? threads_multiple
           : level >= MPI_THREAD_FUNNELED ? threads_funneled
                                          : threads_single;
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm all = MPI_COMM_NULL;
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &all);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) *world = handle_of(all);
  return code;
}

static int finish(void) { return MPI_Finalize(); }

static int rank_in(MpiHandle communicator, int* rank) {
  return MPI_Comm_rank(communicator_of(communicator), rank);
}

static int size_of(MpiHandle communicator, int* size) {
  return MPI_Comm_size(communicator_of(communicator), size);
}

static int split(MpiHandle communicator, int colour, int key, MpiHandle* part) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_Comm_split(communicator_of(communicator), colour < 0 ? MPI_UNDEFINED : colour, key, &made);
  *part = 0;
  if (code != MPI_SUCCESS || made == MPI_COMM_NULL) return code;
  code = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  *part = handle_of(made);
  return code;
}

static int send(const void* from, int64_t bytes, int rank, int tag, MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  return bytes <= INT_MAX ? MPI_Send(from, (int)bytes, MPI_BYTE, rank, tag, by)
                          : LARGE(MPI_Send_c(from, bytes, MPI_BYTE, rank, tag, by));
}

static int receive(void* to, int64_t bytes, int rank, int tag, MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  return bytes <= INT_MAX ? MPI_Recv(to, (int)bytes, MPI_BYTE, rank, tag, by, MPI_STATUS_IGNORE)
                          : LARGE(MPI_Recv_c(to, bytes, MPI_BYTE, rank, tag, by, MPI_STATUS_IGNORE));
}

static int meet(int rank, int tag, MpiHandle communicator) {
  return MPI_Sendrecv(NULL, 0, MPI_BYTE, rank, tag, NULL, 0, MPI_BYTE, rank, tag,
                      communicator_of(communicator), MPI_STATUS_IGNORE);
}

static int begin_send(const void* from, int64_t bytes, int rank, int tag, MpiHandle communicator,
                      void* requests, int index) {
  const MPI_Comm by = communicator_of(communicator);
  MPI_Request* const request = (MPI_Request*)requests + index;
  return bytes <= INT_MAX ? MPI_Isend(from, (int)bytes, MPI_BYTE, rank, tag, by, request)
                          : LARGE(MPI_Isend_c(from, bytes, MPI_BYTE, rank, tag, by, request));
}

static int begin_receive(void* to, int64_t bytes, int rank, int tag, MpiHandle communicator, void* requests,
                         int index) {
  const MPI_Comm by = communicator_of(communicator);
  MPI_Request* const request = (MPI_Request*)requests + index;
  return bytes <= INT_MAX ? MPI_Irecv(to, (int)bytes, MPI_BYTE, rank, tag, by, request)
                          : LARGE(MPI_Irecv_c(to, bytes, MPI_BYTE, rank, tag, by, request));
}

static int wait_all(int count, void* requests, int first) {
  return MPI_Waitall(count, (MPI_Request*)requests + first, MPI_STATUSES_IGNORE);
}

static void clear(int count, void* requests, int first) {
  for (int i = first; i < first + count; ++i) ((MPI_Request*)requests)[i] = MPI_REQUEST_NULL;
}

static int test_all(int count, void* requests, int first, int* over) {
  return MPI_Testall(count, (MPI_Request*)requests + first, over, MPI_STATUSES_IGNORE);
}

static int test_any(int count, void* requests, int first, int* index, int64_t* bytes) {
  int over = 0;
  int found = MPI_UNDEFINED;
  int length = 0;
  MPI_Status status;
  int code = MPI_Testany(count, (MPI_Request*)requests + first, &found, &over, &status);
  *index = -1;
  *bytes = 0;
  if (code != MPI_SUCCESS || !over || found == MPI_UNDEFINED) return code;
  code = MPI_Get_count(&status, MPI_BYTE, &length);
  *index = found;
  *bytes = length;
  return code;
}

static int cancel_all(int count, void* requests, int first) {
  int code = MPI_SUCCESS;
  for (int i = first; i < first + count; ++i) {
    MPI_Request* const request = (MPI_Request*)requests + i;
    if (code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) continue;
    code = MPI_Cancel(request);
    if (code == MPI_SUCCESS) code = MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  return code;
}

static enum MpiSum try_sum(enum MpiElement type) {
  // 32 bits of elements that are 1, and of as many that are 2.
  static const struct {
    int count;
    uint32_t ones;
    uint32_t twos;
  } known[] = {
      [element_byte] = {4, 0x01010101, 0x02020202},
      [element_uint16] = {2, 0x00010001, 0x00020002},
      [element_int32] = {1, 1, 2},
      [element_float32] = {1, 0x3f800000, 0x40000000},
      [element_float16] = {2, 0x3c003c00, 0x40004000},
      [element_bfloat16] = {2, 0x3f803f80, 0x40004000},
  };
  const MPI_Datatype of = type_of(type);
  if (of == MPI_DATATYPE_NULL) return sum_unnamed;
  uint32_t sum = known[type].ones;
  if (MPI_Reduce_local(&known[type].ones, &sum, known[type].count, of, MPI_SUM) != MPI_SUCCESS)
    return sum_refused;
  return sum == known[type].twos ? sum_right : sum_wrong;
}

static int barrier(MpiHandle communicator) { return MPI_Barrier(communicator_of(communicator)); }

static int all_reduce(const void* from, void* to, int64_t count, enum MpiElement type,
                      MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  const MPI_Datatype of = type_of(type);
  from = or_in_place(from);
  return count <= INT_MAX ? MPI_Allreduce(from, to, (int)count, of, MPI_SUM, by)
                          : LARGE(MPI_Allreduce_c(from, to, count, of, MPI_SUM, by));
}

static MPI_Datatype number_of(enum MpiNumber type) {
  return type == number_int32 ? MPI_INT32_T : type == number_int64 ? MPI_INT64_T : MPI_DOUBLE;
}

static MPI_Op operation_of(enum MpiReduce by) {
  return by == reduce_sum ? MPI_SUM : by == reduce_min ? MPI_MIN : MPI_MAX;
}

static int reduce_numbers(void* numbers, int count, enum MpiNumber type, enum MpiReduce by,
                          MpiHandle communicator) {
  return MPI_Allreduce(MPI_IN_PLACE, numbers, count, number_of(type), operation_of(by),
                       communicator_of(communicator));
}

static int begin_reduce_numbers(void* numbers, int count, enum MpiNumber type, enum MpiReduce by,
                                MpiHandle communicator, void* requests, int index) {
  return MPI_Iallreduce(MPI_IN_PLACE, numbers, count, number_of(type), operation_of(by),
                        communicator_of(communicator), (MPI_Request*)requests + index);
}

static int reduce(const void* from, void* to, int64_t count, enum MpiElement type, int root,
                  MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  const MPI_Datatype of = type_of(type);
  from = or_in_place(from);
  return count <= INT_MAX ? MPI_Reduce(from, to, (int)count, of, MPI_SUM, root, by)
                          : LARGE(MPI_Reduce_c(from, to, count, of, MPI_SUM, root, by));
}

static int broadcast(void* at, int64_t count, enum MpiElement type, int root, MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  const MPI_Datatype of = type_of(type);
  return count <= INT_MAX ? MPI_Bcast(at, (int)count, of, root, by)
                          : LARGE(MPI_Bcast_c(at, count, of, root, by));
}

static int reduce_scatter(const void* from, void* to, int64_t count, enum MpiElement type,
                          MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  const MPI_Datatype of = type_of(type);
  from = or_in_place(from);
  return count <= INT_MAX ? MPI_Reduce_scatter_block(from, to, (int)count, of, MPI_SUM, by)
                          : LARGE(MPI_Reduce_scatter_block_c(from, to, count, of, MPI_SUM, by));
}

static int all_gather(const void* from, void* to, int64_t count, enum MpiElement type,
                      MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  const MPI_Datatype of = type_of(type);
  from = or_in_place(from);
  return count <= INT_MAX ? MPI_Allgather(from, (int)count, of, to, (int)count, of, by)
                          : LARGE(MPI_Allgather_c(from, count, of, to, count, of, by));
}

static int all_to_all(const void* from, void* to, int64_t count, enum MpiElement type,
                      MpiHandle communicator) {
  const MPI_Comm by = communicator_of(communicator);
  const MPI_Datatype of = type_of(type);
  from = or_in_place(from);
  return count <= INT_MAX ? MPI_Alltoall(from, (int)count, of, to, (int)count, of, by)
                          : LARGE(MPI_Alltoall_c(from, count, of, to, count, of, by));
}

static int expose(void* base, int64_t bytes, MpiHandle communicator, MpiHandle* window) {
  MPI_Win made = MPI_WIN_NULL;
  int code = MPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, communicator_of(communicator), &made);
  if (code == MPI_SUCCESS) code = MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
  *window = 0;
  if (code == MPI_SUCCESS) memcpy(window, &made, sizeof made);
  return code;
}

static int withdraw(MpiHandle* window) {
  MPI_Win gone = window_of(*window);
  *window = 0;
  return MPI_Win_free(&gone);
}

static int lock(int rank, MpiHandle window) {
  return MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window_of(window));
}

static int unlock(int rank, MpiHandle window) { return MPI_Win_unlock(rank, window_of(window)); }

static int put(const void* from, int64_t bytes, int rank, int64_t offset, MpiHandle window) {
  const MPI_Win into = window_of(window);
  const MPI_Aint at = (MPI_Aint)offset;
  return bytes <= INT_MAX ? MPI_Put(from, (int)bytes, MPI_BYTE, rank, at, (int)bytes, MPI_BYTE, into)
                          : LARGE(MPI_Put_c(from, bytes, MPI_BYTE, rank, at, bytes, MPI_BYTE, into));
}

static int get(void* to, int64_t bytes, int rank, int64_t offset, MpiHandle window) {
  const MPI_Win out_of = window_of(window);
  const MPI_Aint at = (MPI_Aint)offset;
  return bytes <= INT_MAX ? MPI_Get(to, (int)bytes, MPI_BYTE, rank, at, (int)bytes, MPI_BYTE, out_of)
                          : LARGE(MPI_Get_c(to, bytes, MPI_BYTE, rank, at, bytes, MPI_BYTE, out_of));
}

static int flush(int rank, MpiHandle window) { return MPI_Win_flush(rank, window_of(window)); }

const struct MpiFunctions* linkscope_mpi_functions(void) {
  static const struct MpiFunctions functions = {
      .layout = LINKSCOPE_MPI_LAYOUT,
#ifdef MPI_ABI_VERSION
      .header = header_of_standard_abi,
#else
      .header = header_of_site,
#endif
      .request_bytes = sizeof(MPI_Request),
      .most_elements = MOST_ELEMENTS,
      .library_version = library_version,
      .memory_kinds = memory_kinds,
      .error_text = error_text,
      .start = start,
      .finish = finish,
      .rank_in = rank_in,
      .size_of = size_of,
      .split = split,
      .send = send,
      .receive = receive,
      .meet = meet,
      .begin_send = begin_send,
      .begin_receive = begin_receive,
      .wait_all = wait_all,
      .clear = clear,
      .test_all = test_all,
      .test_any = test_any,
      .cancel_all = cancel_all,
      .try_sum = try_sum,
      .barrier = barrier,
      .all_reduce = all_reduce,
      .reduce_numbers = reduce_numbers,
      .begin_reduce_numbers = begin_reduce_numbers,
      .reduce = reduce,
      .broadcast = broadcast,
      .reduce_scatter = reduce_scatter,
      .all_gather = all_gather,
      .all_to_all = all_to_all,
      .expose = expose,
      .withdraw = withdraw,
      .lock = lock,
      .unlock = unlock,
      .put = put,
      .get = get,
      .flush = flush,
  };
  return &functions;
}
