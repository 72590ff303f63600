// An adapter that lies: it hands every call on to the real one, and flips a byte of some of what arrives at one rank.
// FALSE_MPI_ADAPTER names the real one, FALSE_MPI_LIBRARY the MPI to be loaded before it, if it wants that; FALSE_MPI_RANK,
// FALSE_MPI_BYTES and FALSE_MPI_OFFSET say where, of what size and at which byte data arrives wrong. Two offsets are no bytes: -1
// has receiving it fail, -2 has a sum of it never return.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/mpi/functions.h"

static const struct MpiFunctions* real;
static struct MpiFunctions functions;
static int liar;
static int64_t lied_about;
static int64_t offset;
static const int failure = 16;  // of no kind that MPI has a name for

static int64_t number(const char* name) {
  const char* const text = getenv(name);
  return text == NULL ? -1 : strtoll(text, NULL, 10);
}

static void lie(void* at, int64_t bytes, MpiHandle communicator) {
  int rank = -1;
  if (bytes != lied_about || real->rank_in(communicator, &rank) != 0 || rank != liar) return;
  while (offset == -2) pause();
  ((unsigned char*)at)[offset] ^= 1U;
}

static int receive(void* to, int64_t bytes, int rank, int tag, MpiHandle communicator) {
  int own = -1;
  if (offset == -1 && bytes == lied_about && real->rank_in(communicator, &own) == 0 && own == liar) {
    return failure;
  }
  const int code = real->receive(to, bytes, rank, tag, communicator);
  if (code == 0) lie(to, bytes, communicator);
  return code;
}

static int all_reduce(const void* from, void* to, int64_t count, enum MpiElement type,
                      MpiHandle communicator) {
  const int code = real->all_reduce(from, to, count, type, communicator);
  if (code == 0 && type == element_int32) lie(to, count * (int64_t)sizeof(int32_t), communicator);
  return code;
}

/// Not to be used (no layout) where the real one cannot be loaded.
const struct MpiFunctions* linkscope_mpi_functions(void) {
  const char* const library = getenv("FALSE_MPI_LIBRARY");
  const char* const adapter = getenv("FALSE_MPI_ADAPTER");
  if (real != NULL) return &functions;
  if (library != NULL) dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  void* const loaded = adapter == NULL ? NULL : dlopen(adapter, RTLD_NOW | RTLD_GLOBAL);
  const struct MpiFunctions* (*entry)(void) = NULL;
  // Asked of that library: this file has the same symbol.
  if (loaded != NULL) *(void**)&entry = dlsym(loaded, "linkscope_mpi_functions");
  if (entry == NULL) {
    fprintf(stderr, "false_mpi: %s\n", adapter == NULL ? "FALSE_MPI_ADAPTER is not set" : dlerror());
    return &functions;
  }
  real = entry();
  functions = *real;
  functions.receive = receive;
  functions.all_reduce = all_reduce;
  liar = (int)number("FALSE_MPI_RANK");
  lied_about = number("FALSE_MPI_BYTES");
  offset = number("FALSE_MPI_OFFSET");
  return &functions;
}
