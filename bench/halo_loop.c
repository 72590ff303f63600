// A hand-written halo exchange to hold `linkscope app halo` against: two ranks side by side, CloverLeaf's six exchanges of a
// step in its order, by MPI on malloc'd memory, with the step's all-reduces. Prints the median seconds of a schedule.
// mpicc -O3 bench/halo_loop.c -o build/halo_loop; mpiexec -n 2 build/halo_loop COLUMNS ROWS STEPS TIMES
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { fields = 14, most = 20, exchanges = 7 };

/// An exchange: its fields, their depth; the first is the one at the start.
static const struct {
  int count;
  int depth;
  int field[10];
} exchange[exchanges] = {{10, 2, {0, 2, 4, 5, 1, 3, 6, 7, 8, 9}},
                         {5, 1, {4, 2, 0, 6, 7}},
                         {1, 1, {5}},
                         {1, 1, {4}},
                         {4, 2, {3, 1, 10, 11}},
                         {6, 2, {1, 3, 8, 9, 12, 13}},
                         {6, 2, {1, 3, 8, 9, 12, 13}}};
static const int extra_x[fields] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0};
static const int extra_y[fields] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1};

static long columns, rows, pitch;
static double *field[fields], *out, *in;

static void exchange_sides(int number, int rank) {
  const int depth = exchange[number].depth;
  const long side = depth * (rows + 5);
  MPI_Request requests[2];
  double* at = out;
  for (int i = 0; i < exchange[number].count; ++i, at += side) {
    const int f = exchange[number].field[i];
    const long first = 2 + (rank == 0 ? columns - depth : extra_x[f]);
    double* to = at;
    for (long row = 2 - depth; row < 2 + rows + extra_y[f] + depth; ++row, to += depth)
      memcpy(to, field[f] + row * pitch + first, sizeof(double) * (size_t)depth);
  }
  const int bytes = (int)(sizeof(double) * (size_t)side) * exchange[number].count;
  MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  at = in;
  for (int i = 0; i < exchange[number].count; ++i, at += side) {
    const int f = exchange[number].field[i];
    const long first = 2 + (rank == 0 ? columns + extra_x[f] : -depth);
    const double* from = at;
    for (long row = 2 - depth; row < 2 + rows + extra_y[f] + depth; ++row, from += depth)
      memcpy(field[f] + row * pitch + first, from, sizeof(double) * (size_t)depth);
  }
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 5) {
    fprintf(stderr, "halo_loop COLUMNS ROWS STEPS TIMES\n");
    return 2;
  }
  columns = atol(argv[1]) / 2;
  rows = atol(argv[2]);
  pitch = columns + 5;
  const int steps = atoi(argv[3]), times = atoi(argv[4]);
  for (int f = 0; f < fields; ++f) {
    field[f] = malloc(sizeof(double) * (size_t)(pitch * (rows + 5)));
    memset(field[f], 1, sizeof(double) * (size_t)(pitch * (rows + 5)));
  }
  out = malloc(sizeof(double) * (size_t)(most * (rows + 5)));
  in = malloc(sizeof(double) * (size_t)(most * (rows + 5)));
  double* seconds = malloc(sizeof(double) * (size_t)times);
  for (int time = 0; time < times; ++time) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    exchange_sides(0, rank);
    for (int step = 1; step <= steps; ++step) {
      double least = 0, sums[5] = {0};
      int mosts[2] = {0};
      for (int number = 1; number < exchanges; ++number) exchange_sides(number, rank);
      MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
      for (int i = 0; i < 2; ++i) MPI_Allreduce(MPI_IN_PLACE, &mosts[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      for (int i = 0; i < 5 && step % 10 == 0; ++i)
        MPI_Allreduce(MPI_IN_PLACE, &sums[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double own = MPI_Wtime() - begin;
    MPI_Allreduce(&own, &seconds[time], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  qsort(seconds, (size_t)times, sizeof(double), by_size);
  if (rank == 0) printf("%.6f\n", seconds[times / 2]);
  MPI_Finalize();
  return 0;
}
