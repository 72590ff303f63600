// An adapter that is loaded as a site's is: over the fake MPI, which says that it takes no GPU memory.
#include "fake_mpi.hpp"

extern "C" {

const linkscope::mpi::MpiFunctions* linkscope_mpi_functions() { return &linkscope::mpi::FakeMpi::table(); }

int MPIX_Query_cuda_support() { return 0; }
}
