// launch, synchronize and event-record: what a kernel's launch, waiting and marking a stream cost.
#include <array>
#include <cstring>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

constexpr Parameter argument_size =
    integer("argument_bytes", "bytes of the kernel's arguments, of a few sizes", 0, 4096, 0);

Bytes argument_bytes(const Flow& flow) { return static_cast<Bytes>(flow.parameters.number(argument_size)); }

enum class Waiting { device, stream, event };
constexpr Parameter waited_for = word("what", "device|stream|event", "what the call waits for");
constexpr Parameter work_us = integer(
    "work_us",
    "microseconds of a kernel that is launched before each call: the time is that of launch, kernel and call "
    "together; 0: nothing to wait for",
    0, 1000000, 0);

template <class Call>
gpuError_t repeat(std::uint64_t repeats, Call call) noexcept {
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const gpuError_t status = call();
    if (status != gpuSuccess) return status;
  }
  return gpuSuccess;
}

class LaunchTransfer final : public CallTransfer {
 public:
  LaunchTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& /*arenas*/)
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
    return repeat(repeats,
                  [&] { return gpuLaunchKernel(kernel_, dim3(1), dim3(1), arguments.data(), 0, stream()); });
  }

  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t /*seed*/) const override {
    const std::uint64_t counted = has_counter() ? counts_.read()[0] : shared_count() - shared_before_;
    // Another flow's kernels count on the shared word too: more than were launched here says nothing.
    const bool right = has_counter() ? counted == transfers() : counted >= transfers();
    if (right) return std::nullopt;
    return Mismatch{std::to_string(transfers()) + " launches, but " + std::to_string(counted) +
                    " kernels ran"};
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

/// Two events of a device; both have been recorded once the first start is restored.
class Events {
 public:
  explicit Events(gpuStream_t stream) : stream_(stream) {
    LINKSCOPE_CHECK(gpuEventCreate(&before_));
    LINKSCOPE_CHECK(gpuEventCreate(&measured_));
  }
  ~Events() {
    static_cast<void>(gpuEventDestroy(before_));
    static_cast<void>(gpuEventDestroy(measured_));
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  [[nodiscard]] gpuEvent_t measured() const { return measured_; }
  void record_before() const { LINKSCOPE_CHECK(gpuEventRecord(before_, stream_)); }
  void record_measured() const { LINKSCOPE_CHECK(gpuEventRecord(measured_, stream_)); }
  /// Says whether the measured event was recorded after the other and has come to pass.
  [[nodiscard]] std::optional<Mismatch> find_wrong() const {
    float milliseconds = -1;
    const gpuError_t status = gpuEventElapsedTime(&milliseconds, before_, measured_);
    if (status != gpuSuccess) {
      static_cast<void>(gpuGetLastError());
      return Mismatch{"the event was not recorded: " + describe(status)};
    }
    if (milliseconds >= 0) return std::nullopt;
    return Mismatch{"the event's time is before that of the one that was recorded before it"};
  }

 private:
  gpuStream_t stream_;
  gpuEvent_t before_ = nullptr;
  gpuEvent_t measured_ = nullptr;
};

class SynchronizeTransfer final : public CallTransfer {
 public:
  SynchronizeTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& /*arenas*/)
      : CallTransfer(std::move(context), flow.executor.index),
        waits_for_(flow.parameters.choice<Waiting>(waited_for)),
        work_(static_cast<double>(flow.parameters.number(work_us)) * 1e-6),
        events_(stream()) {
    this->context().load(device(), call_kernels());
    events_.record_before();
    events_.record_measured();
  }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    if (work_ > 0) return repeat(repeats, [this] { return work_and_wait(); });
    switch (waits_for_) {
      case Waiting::device:
        return repeat(repeats, [] { return gpuDeviceSynchronize(); });
      case Waiting::stream:
        return repeat(repeats, [this] { return gpuStreamSynchronize(stream()); });
      case Waiting::event:
        return repeat(repeats, [this] { return gpuEventSynchronize(events_.measured()); });
    }
    return gpuSuccess;
  }
  gpuError_t work_and_wait() noexcept {
    gpuError_t status = launch_work(stream(), work_);
    if (status == gpuSuccess && waits_for_ == Waiting::event) {
      status = gpuEventRecord(events_.measured(), stream());
      return status == gpuSuccess ? gpuEventSynchronize(events_.measured()) : status;
    }
    if (status != gpuSuccess) return status;
    return waits_for_ == Waiting::device ? gpuDeviceSynchronize() : gpuStreamSynchronize(stream());
  }
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t /*seed*/) const override {
    return events_.find_wrong();
  }

  Waiting waits_for_;
  Seconds work_;
  Events events_;
};

class EventRecordTransfer final : public CallTransfer {
 public:
  EventRecordTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& /*arenas*/)
      : CallTransfer(std::move(context), flow.executor.index), events_(stream()) {
    own_facts().max_repeats = queue_share;
  }

  void restore() override {
    events_.record_before();
    CallTransfer::restore();
  }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    return repeat(repeats, [this] { return gpuEventRecord(events_.measured(), stream()); });
  }
  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t /*seed*/) const override {
    return events_.find_wrong();
  }

  Events events_;
};

Support can_launch(const GpuContext& context, const Flow& flow) {
  if (const Support callable = is_call(context, flow); !callable) return callable;
  if (counting_kernel(argument_bytes(flow)) != nullptr) return Support::yes();
  std::string sizes;
  for (const Bytes size : argument_sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return Support::no("argument_bytes is one of " + sizes);
}

}  // namespace

Method kernel_launch(const std::shared_ptr<GpuContext>& context) {
  return call_row(context, {"launch", "time of a kernel launch's call", Quantity::latency}, {argument_size},
                  &can_launch, &make<LaunchTransfer>);
}

Method synchronize(const std::shared_ptr<GpuContext>& context) {
  return call_row(context,
                  {"synchronize", "time to find a device, stream or event idle, or to wait for a kernel",
                   Quantity::latency},
                  {waited_for, work_us}, &is_call, &make<SynchronizeTransfer>);
}

Method event_record(const std::shared_ptr<GpuContext>& context) {
  return call_row(context, {"event-record", "time of an event record's call", Quantity::latency}, {},
                  &is_call, &make<EventRecordTransfer>);
}

}  // namespace linkscope::gpu
