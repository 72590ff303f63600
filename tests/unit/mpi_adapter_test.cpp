// The adapter to the standard ABI over a stand-in for MPI: what it finds out of types.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "backend/mpi/functions.h"

namespace linkscope::mpi {
namespace {

TEST(MpiAdapter, ATypeIsTriedByItsValue) {
  void* const module = dlopen(FAKE_SUMS, RTLD_LAZY);  // all but MPI_Reduce_local is missing there
  ASSERT_NE(module, nullptr) << dlerror();
  auto* const entry = reinterpret_cast<const MpiFunctions* (*)()>(dlsym(module, "linkscope_mpi_functions"));
  ASSERT_NE(entry, nullptr) << dlerror();
  const MpiFunctions& functions = *entry();
  EXPECT_EQ(functions.layout, LINKSCOPE_MPI_LAYOUT);
  EXPECT_EQ(functions.header, header_of_standard_abi);
  EXPECT_EQ(functions.try_sum(element_float32), sum_right);
  EXPECT_EQ(functions.try_sum(element_float16), sum_wrong);
  EXPECT_EQ(functions.try_sum(element_int32), sum_refused);
  EXPECT_EQ(functions.try_sum(element_bfloat16), sum_unnamed);
}

}  // namespace
}  // namespace linkscope::mpi
