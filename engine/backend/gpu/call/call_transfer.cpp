#include "backend/gpu/call/call_transfer.hpp"

#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {

int calling_node(const GpuContext& context, int device) {
  return context.host().topology().nearest_with_cpus(context.device(device).numa).index;
}

std::uint64_t count_of(const Flow& flow, const std::string& name, std::uint64_t otherwise,
                       std::uint64_t least, std::uint64_t most) {
  const std::int64_t value = flow.parameters.number(name, static_cast<std::int64_t>(otherwise));
  if (std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most))
    return static_cast<std::uint64_t>(value);
  throw Error(Fault::bad_input,
              "parameter " + name + ": from " + std::to_string(least) + " to " + std::to_string(most));
}

CallTransfer::CallTransfer(std::shared_ptr<GpuContext> context, int device)
    : HostTransfer(calling_node(*context, device), 1),
      context_(std::move(context)),
      device_(device),
      stream_(*context_, device) {}

void CallTransfer::drain() const {
  context_->use(device_);
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream()));
}

void CallTransfer::arm(std::uint64_t /*seed*/) {
  drain();
  restart();
  failure_ = gpuSuccess;
}

void CallTransfer::restore() {
  drain();
  linkscope::gpu::check(failure_, "the measured call");
}

void CallTransfer::perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept {
  gpuError_t status = gpuSetDevice(device_);  // once for all repeats: a thread keeps its device
  if (status == gpuSuccess) status = call(repeats);
  if (failure_ == gpuSuccess) failure_ = status;
}

std::optional<Mismatch> CallTransfer::verify(std::uint64_t seed) const {
  if (failure_ != gpuSuccess) return Mismatch{"the measured call failed: " + describe(failure_)};
  drain();
  return check(seed);
}

std::vector<std::string> CallTransfer::notes() const {
  return {"a call: timed by the host clock on either clock"};
}

}  // namespace linkscope::gpu
