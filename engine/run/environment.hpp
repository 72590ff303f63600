// Environment: everything the engine takes from environment variables, read once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/gpu_runtime.hpp"

namespace linkscope {

/// What MPI is told of the threads that will call it: there is one; several will.
enum class MpiCallers { alone, many };

struct Environment {
  /// LINKSCOPE_SEED: seed of the first pattern; later passes and flows count on from it. Default 1.
  std::uint64_t first_seed = 1;
  /// LINKSCOPE_SYNC: spin (default), yield or block.
  SyncMode waiting = SyncMode::spin;
  /// LINKSCOPE_MPI: an MPI library with the standard ABI, or an adapter of ours; empty: mpi::MpiLibrary looks for one.
  std::string mpi;
  /// LINKSCOPE_MPI_THREADS, the level that MPI_Init_thread is asked for: single (default): as MPI_Init. multiple: flows
  /// that share a process need it, and libraries pay for it with latency.
  MpiCallers mpi_callers = MpiCallers::alone;
  /// LINKSCOPE_XCCL: NCCL's or RCCL's library; empty: xccl::XcclLibrary looks for it.
  std::string xccl;
  /// LINKSCOPE_PYTHON (of the Python that started this process; several joined by colons), VIRTUAL_ENV, CONDA_PREFIX:
  /// folders of Python environments, whose lib/ may hold libraries. Each once, in this order.
  std::vector<std::string> python_environments;
  /// LINKSCOPE_PYTHON_PROGRAM: the Python that is started for what only Python can (backend/python); empty: none.
  std::string python_program;
  /// LINKSCOPE_CONTROL: HOST:PORT of the supervisor that a process of several answers to.
  std::string control;
  /// LINKSCOPE_TOKEN: the secret of its run.
  std::string token;
  /// This process's place among several: LINKSCOPE_RANK, else what the launcher says (`rank_variables`).
  std::optional<int> rank;

  /// In this order: ours, Open MPI's, PMIx's, PMI's (MPICH and its kin), Slurm's.
  static constexpr std::array rank_variables{"LINKSCOPE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                             "PMI_RANK", "SLURM_PROCID"};

  /// Throws Error{bad_input} naming the variable.
  static Environment read();
};

}  // namespace linkscope
