// GPU awareness: whether an MPI library says that it takes addresses of GPU memory.
#pragma once

#include <string>

#include "model/support.hpp"

namespace linkscope::mpi {

/// Asks every way there is, after MPI has started: `memory_kinds` is what MPI 4.1's info key mpi_memory_alloc_kinds
/// says ("system,mpi,cuda"); then the functions that MPICH, MVAPICH and Open MPI have added. No: with what was asked.
[[nodiscard]] Support ask_gpu_awareness(const std::string& memory_kinds);

}  // namespace linkscope::mpi
