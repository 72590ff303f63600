// The one function of an MPI that the adapter tries types with: floats are right, halves stay as they are, integers fail.
#include <mpi.h>
#include <string.h>

int MPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  if (op != MPI_SUM || type == MPI_INT32_T) return MPI_ERR_COUNT;
  if (type != MPI_FLOAT || count != 1) return MPI_SUCCESS;
  float sum[2] = {0, 0};
  memcpy(&sum[0], in, sizeof sum[0]);
  memcpy(&sum[1], inout, sizeof sum[1]);
  sum[1] += sum[0];
  memcpy(inout, &sum[1], sizeof sum[1]);
  return MPI_SUCCESS;
}
