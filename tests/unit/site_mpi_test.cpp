// An MPI that is found and loaded as a site's is, and says that it takes no GPU memory. A program of its own: the query
// is a symbol that, once loaded, is there for good.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/host_buffer.hpp"
#include "backend/mpi/methods.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"
#include "fake_gpus.hpp"
#include "fake_mpi.hpp"

namespace linkscope::mpi {
namespace {

Endpoint gpu_memory() { return endpoint({DeviceKind::gpu, 0}, "device"); }

Endpoint host_memory(int rank) { return endpoint({}, "pageable", rank); }

Flow message() {
  Flow flow;
  flow.method = "mpi";
  flow.bytes = 64;
  flow.source = host_memory(0);
  flow.destination = host_memory(1);
  flow.parameters.set("call", "send");
  return flow;
}

/// Rank 0, with `device` memory of gpu:0, and an MPI that says it takes none.
class MpiWithoutGpuSupport : public ::testing::Test {
 protected:
  static constexpr const char* refusal =
      "device memory of gpu:0: Fake MPI v1.2: it takes no GPU memory, says MPIX_Query_cuda_support";

  static std::string refused(const Method& method, const Flow& flow, const LocalPart& own) {
    EXPECT_TRUE(method.supports(flow)) << "to know more, MPI must have been started";
    try {
      static_cast<void>(method.assemble(flow, {own}));
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::unsupported);
      return error.what();
    }
    return {};
  }
  /// `part` of the flow is in this process; any memory will do, since nobody reaches for it.
  LocalPart own(std::size_t part, bool sends, bool receives) {
    return {part, {sends ? &buffer_ : nullptr, receives ? &buffer_ : nullptr, {64, 1}}};
  }

  std::shared_ptr<host::HostContext> host_ = std::make_shared<host::HostContext>();
  std::shared_ptr<FakeGpus> gpus_ = std::make_shared<FakeGpus>();
  std::shared_ptr<MpiContext> context_ = std::make_shared<MpiContext>(
      host_, MpiLibrary({FAKE_SITE_MPI, "/no", {}}, threads_single), std::vector<DeviceFacts>{}, gpus_);
  std::vector<std::byte> memory_{64};
  host::HostBuffer buffer_{
      {}, 64, memory_.data(), {}, host_->workers(host_->topology().nearest_with_cpus(0).index)};
};

TEST(SiteMpi, IsNamedBeforeItIsStarted) {
  MpiLibrary library({FAKE_SITE_MPI, "/no", {}}, threads_single);
  const auto versions = library.versions();
  EXPECT_EQ(versions.at("MPI"), version_of(FakeMpi::table()));
  EXPECT_EQ(versions.at("MPI library"), FAKE_SITE_MPI);
  EXPECT_TRUE(MpiLibrary({"/no/mpi", "/no", {}}, threads_single).versions().empty());
}

TEST_F(MpiWithoutGpuSupport, MessagesOfAGpusMemoryAreRefusedAtEitherEnd) {
  const Method method = mpi_message(context_);
  Flow flow = message();
  flow.source = gpu_memory();
  EXPECT_EQ(refused(method, flow, own(0, true, false)), refusal);
  flow.source = host_memory(1);
  flow.destination = gpu_memory();
  EXPECT_EQ(refused(method, flow, own(1, false, true)), refusal);
  EXPECT_EQ(gpus_->used, (DeviceId{DeviceKind::gpu, 0})) << "MPI was asked with that GPU in use";
}

TEST_F(MpiWithoutGpuSupport, MessagesThatAreStagedThroughTheHostAreNot) {
  const Method method = mpi_message(context_);
  Flow flow = message();
  flow.source = gpu_memory();
  flow.parameters.set("staging", "host");
  EXPECT_EQ(refused(method, flow, own(0, true, false)), "");
  EXPECT_EQ(gpus_->bounces, 1);
}

TEST_F(MpiWithoutGpuSupport, OfHostMemoryNothingIsRefused) {
  const Method method = mpi_message(context_);
  const Flow flow = message();
  EXPECT_EQ(refused(method, flow, own(0, true, false)), "");
}

TEST_F(MpiWithoutGpuSupport, CollectivesOfAGpusMemoryAreRefused) {
  const Method method = mpi_collective(context_);
  Flow flow;
  flow.method = "mpi-collective";
  flow.bytes = 64;
  flow.members = {gpu_memory(), host_memory(1)};
  flow.parameters.set("collective", "all-reduce");
  EXPECT_EQ(refused(method, flow, own(0, true, true)), refusal);
}

}  // namespace
}  // namespace linkscope::mpi
