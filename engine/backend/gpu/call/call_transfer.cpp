#include "backend/gpu/call/call_transfer.hpp"

#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"

namespace linkscope::gpu {

int calling_node(const GpuContext& context, int device) {
  return context.host().topology().nearest_with_cpus(context.device(device).numa).index;
}

Method call_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make) {
  Method row = gpu_row(context, spec, std::move(parameters), std::move(supports), std::move(make));
  row.footprint = row.rotation_bytes = [](const Flow& /*flow*/) { return Bytes{0}; };
  return row;
}

Support is_call(const GpuContext& context, const Flow& flow) {
  if (flow.source || flow.destination)
    return Support::no(flow.method + " is a call: it has no source and no destination");
  return context.has(flow.executor);
}

Support names_memory(const Flow& flow) {
  if (!flow.source && flow.destination) return Support::yes();
  return Support::no(flow.method + " has no source, and a destination that names the memory");
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

void CallTransfer::arm(std::uint64_t seed) {
  drain();
  HostTransfer::arm(seed);
  failure_ = gpuSuccess;
}

void CallTransfer::restore() {
  drain();
  check(failure_, "the measured call");
}

void CallTransfer::perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept {
  gpuError_t status = gpuSetDevice(device_);  // once for all repeats: a thread keeps its device
  if (status == gpuSuccess) status = call(repeats);
  if (failure_ == gpuSuccess) failure_ = status;
}

std::optional<Mismatch> CallTransfer::verify(std::uint64_t seed) const {
  if (failure_ != gpuSuccess) return Mismatch{"the measured call failed: " + describe(failure_)};
  drain();
  return find_wrong(seed);
}

std::vector<std::string> CallTransfer::notes() const {
  return {"a call: timed by the host clock on either clock"};
}

}  // namespace linkscope::gpu
