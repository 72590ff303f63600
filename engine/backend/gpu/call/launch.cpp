#include "backend/gpu/call/launch.hpp"

#include <array>
#include <cstring>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/call/kernels.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

Bytes argument_bytes(const Flow& flow) {
  return count_of(flow, "argument_bytes", 0, 0, argument_sizes().back());
}

std::string list_of_sizes() {
  std::string text;
  for (const Bytes size : argument_sizes()) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

class LaunchTransfer final : public CallTransfer {
 public:
  LaunchTransfer(std::shared_ptr<GpuContext> context, const Flow& flow)
      : CallTransfer(std::move(context), flow.executor.index),
        bytes_(argument_bytes(flow)),
        kernel_(counting_kernel(bytes_)),
        counts_(this->context(), device(), 2),
        argument_(std::max<Bytes>(bytes_, 1)) {
    own_facts().max_repeats = queue_share;
    own_facts().setting = {{"argument_bytes", static_cast<std::int64_t>(bytes_)}};
    this->context().load(device(), {kernel_});
    this->context().load(device(), call_kernels());
    if (has_counter()) {
      std::uint64_t* const counter = counts_.data();
      std::memcpy(argument_.data(), &counter, sizeof counter);
    }
  }

  void arm(std::uint64_t seed) override {
    CallTransfer::arm(seed);
    counts_.clear();
    shared_before_ = shared_count();
  }
  [[nodiscard]] Bytes verified_bytes() const override { return sizeof(std::uint64_t); }

 private:
  [[nodiscard]] bool has_counter() const { return bytes_ >= sizeof(std::uint64_t*); }

  gpuError_t call(std::uint64_t repeats) noexcept override {
    std::array<void*, 1> arguments{argument_.data()};
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const gpuError_t status = gpuLaunchKernel(kernel_, dim3(1), dim3(1), arguments.data(), 0, stream());
      if (status != gpuSuccess) return status;
    }
    return gpuSuccess;
  }

  [[nodiscard]] std::optional<Mismatch> check(std::uint64_t /*seed*/) const override {
    const std::uint64_t counted = has_counter() ? counts_.read()[0] : shared_count() - shared_before_;
    // Another flow's kernels count on the shared word too: more than were launched here says nothing.
    const bool right = has_counter() ? counted == done() : counted >= done();
    if (right) return std::nullopt;
    return Mismatch{std::to_string(done()) + " launches, but " + std::to_string(counted) + " kernels ran"};
  }

  [[nodiscard]] std::uint64_t shared_count() const {
    copy_shared_count(context().service_stream(device()), counts_.data() + 1);
    return counts_.read()[1];
  }

  Bytes bytes_;
  const void* kernel_;
  DeviceWords counts_;  // by this transfer's kernels; what they share
  std::uint64_t shared_before_ = 0;
  std::vector<std::byte> argument_;
};

}  // namespace

std::map<std::string, std::string> KernelLaunch::own_parameters() const {
  return {{"argument_bytes", "bytes of the kernel's arguments: " + list_of_sizes() + "; default 0"}};
}

Support KernelLaunch::supports(const Flow& flow) const {
  if (const Support callable = CallMethod::supports(flow); !callable) return callable;
  if (counting_kernel(argument_bytes(flow)) != nullptr) return Support::yes();
  return Support::no("argument_bytes is one of " + list_of_sizes());
}

std::unique_ptr<Transfer> KernelLaunch::make(const Flow& flow, const Arenas& /*arenas*/) const {
  return std::make_unique<LaunchTransfer>(shared_context(), flow);
}

}  // namespace linkscope::gpu
