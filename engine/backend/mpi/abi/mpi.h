// mpi.h: what the adapter uses of the MPI standard ABI (MPI 5.0, chapter 20 and appendix A): opaque pointers, fixed
// constants.
#pragma once

#include <stdint.h>

#define MPI_VERSION 5
#define MPI_ABI_VERSION 1

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;

typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;
typedef struct MPI_ABI_Win* MPI_Win;

typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

#define MPI_COMM_NULL ((MPI_Comm)0x00000100)
#define MPI_COMM_WORLD ((MPI_Comm)0x00000101)
#define MPI_COMM_SELF ((MPI_Comm)0x00000102)
#define MPI_WIN_NULL ((MPI_Win)0x00000110)
#define MPI_INFO_NULL ((MPI_Info)0x00000130)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x00000143)
#define MPI_SUM ((MPI_Op)0x00000021)
#define MPI_MIN ((MPI_Op)0x00000022)
#define MPI_MAX ((MPI_Op)0x00000023)
#define MPI_REQUEST_NULL ((MPI_Request)0x00000180)

#define MPI_DATATYPE_NULL ((MPI_Datatype)0x00000200)
#define MPI_FLOAT ((MPI_Datatype)0x00000210)
#define MPI_DOUBLE ((MPI_Datatype)0x00000214)
#define MPI_BYTE ((MPI_Datatype)0x00000247)
#define MPI_UINT16_T ((MPI_Datatype)0x00000249)
#define MPI_INT32_T ((MPI_Datatype)0x00000250)
#define MPI_INT64_T ((MPI_Datatype)0x00000258)
#define MPI_REAL2 ((MPI_Datatype)0x000002ca)

#define MPI_IN_PLACE ((void*)1)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)

#define MPI_SUCCESS 0
#define MPI_ERR_COUNT 2
#define MPI_UNDEFINED (-32766)
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1024
#define MPI_THREAD_MULTIPLE 4096
#define MPI_LOCK_SHARED 302
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_LIBRARY_VERSION_STRING 8192

int MPI_Get_library_version(char* version, int* length);
int MPI_Error_string(int code, char* text, int* length);
int MPI_Initialized(int* flag);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Query_thread(int* provided);
int MPI_Finalize(void);

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy);
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_get_info(MPI_Comm comm, MPI_Info* info);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part);
int MPI_Info_get_string(MPI_Info info, const char* key, int* room, char* value, int* flag);
int MPI_Info_free(MPI_Info* info);

int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Send_c(const void* from, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Recv_c(void* to, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Status* status);
int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status);
int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Isend_c(const void* from, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                MPI_Request* request);
int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv_c(void* to, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request* request);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);
int MPI_Cancel(MPI_Request* request);

int MPI_Barrier(MPI_Comm comm);
int MPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request);
int MPI_Allreduce_c(const void* from, void* to, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Reduce_c(const void* from, void* to, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                 MPI_Comm comm);
int MPI_Bcast(void* at, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Bcast_c(void* at, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm);
int MPI_Reduce_scatter_block_c(const void* from, void* to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm);
int MPI_Allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                  MPI_Datatype to_type, MPI_Comm comm);
int MPI_Allgather_c(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                    MPI_Count to_count, MPI_Datatype to_type, MPI_Comm comm);
int MPI_Alltoall(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                 MPI_Datatype to_type, MPI_Comm comm);
int MPI_Alltoall_c(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                   MPI_Count to_count, MPI_Datatype to_type, MPI_Comm comm);

int MPI_Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window);
int MPI_Win_set_errhandler(MPI_Win window, MPI_Errhandler handler);
int MPI_Win_free(MPI_Win* window);
int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win window);
int MPI_Win_unlock(int rank, MPI_Win window);
int MPI_Win_flush(int rank, MPI_Win window);
int MPI_Put(const void* from, int from_count, MPI_Datatype from_type, int rank, MPI_Aint offset, int to_count,
            MPI_Datatype to_type, MPI_Win window);
int MPI_Put_c(const void* from, MPI_Count from_count, MPI_Datatype from_type, int rank, MPI_Aint offset,
              MPI_Count to_count, MPI_Datatype to_type, MPI_Win window);
int MPI_Get(void* to, int to_count, MPI_Datatype to_type, int rank, MPI_Aint offset, int from_count,
            MPI_Datatype from_type, MPI_Win window);
int MPI_Get_c(void* to, MPI_Count to_count, MPI_Datatype to_type, int rank, MPI_Aint offset,
              MPI_Count from_count, MPI_Datatype from_type, MPI_Win window);
