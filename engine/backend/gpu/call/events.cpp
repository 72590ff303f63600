#include "backend/gpu/call/events.hpp"

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/call/kernels.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

enum class What { device, stream, event };

std::optional<What> what_of(const Flow& flow) {
  const std::string word = flow.parameters.word("what", "device");
  if (word == "device") return What::device;
  if (word == "stream") return What::stream;
  return word == "event" ? std::optional(What::event) : std::nullopt;
}

constexpr std::uint64_t most_work_us = 1000000;

Seconds work_of(const Flow& flow) {
  return static_cast<double>(count_of(flow, "work_us", 0, 0, most_work_us)) * 1e-6;
}

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
  /// Whether the measured event was recorded after the other and has come to pass.
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

template <class Call>
gpuError_t repeat(std::uint64_t repeats, Call call) noexcept {
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const gpuError_t status = call();
    if (status != gpuSuccess) return status;
  }
  return gpuSuccess;
}

class SynchronizeTransfer final : public CallTransfer {
 public:
  SynchronizeTransfer(std::shared_ptr<GpuContext> context, const Flow& flow)
      : CallTransfer(std::move(context), flow.executor.index),
        what_(*what_of(flow)),
        work_(work_of(flow)),
        events_(stream()) {
    this->context().load(device(), call_kernels());
    events_.record_before();
    events_.record_measured();
  }

  [[nodiscard]] Bytes verified_bytes() const override { return 0; }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    if (work_ > 0) return repeat(repeats, [this] { return work_and_wait(); });
    switch (what_) {
      case What::device:
        return repeat(repeats, [] { return gpuDeviceSynchronize(); });
      case What::stream:
        return repeat(repeats, [this] { return gpuStreamSynchronize(stream()); });
      case What::event:
        return repeat(repeats, [this] { return gpuEventSynchronize(events_.measured()); });
    }
    return gpuSuccess;
  }
  gpuError_t work_and_wait() noexcept {
    gpuError_t status = launch_work(stream(), work_);
    if (status == gpuSuccess && what_ == What::event) {
      status = gpuEventRecord(events_.measured(), stream());
      return status == gpuSuccess ? gpuEventSynchronize(events_.measured()) : status;
    }
    if (status != gpuSuccess) return status;
    return what_ == What::device ? gpuDeviceSynchronize() : gpuStreamSynchronize(stream());
  }
  [[nodiscard]] std::optional<Mismatch> check(std::uint64_t /*seed*/) const override {
    return events_.find_wrong();
  }

  What what_;
  Seconds work_;
  Events events_;
};

class EventRecordTransfer final : public CallTransfer {
 public:
  EventRecordTransfer(std::shared_ptr<GpuContext> context, const Flow& flow)
      : CallTransfer(std::move(context), flow.executor.index), events_(stream()) {
    own_facts().max_repeats = queue_share;
  }

  void restore() override {
    events_.record_before();
    CallTransfer::restore();
  }
  [[nodiscard]] Bytes verified_bytes() const override { return 0; }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    return repeat(repeats, [this] { return gpuEventRecord(events_.measured(), stream()); });
  }
  [[nodiscard]] std::optional<Mismatch> check(std::uint64_t /*seed*/) const override {
    return events_.find_wrong();
  }

  Events events_;
};

}  // namespace

std::map<std::string, std::string> Synchronize::own_parameters() const {
  return {
      {"what", "device (default), stream or event"},
      {"work_us",
       "microseconds of a kernel that is launched before each call: the time is that of launch, kernel and "
       "call together; 0 (default): nothing to wait for"}};
}

Support Synchronize::supports(const Flow& flow) const {
  if (const Support callable = CallMethod::supports(flow); !callable) return callable;
  static_cast<void>(work_of(flow));
  return what_of(flow) ? Support::yes() : Support::no("what is device, stream or event");
}

std::unique_ptr<Transfer> Synchronize::make(const Flow& flow, const Arenas& /*arenas*/) const {
  return std::make_unique<SynchronizeTransfer>(shared_context(), flow);
}

std::unique_ptr<Transfer> EventRecord::make(const Flow& flow, const Arenas& /*arenas*/) const {
  return std::make_unique<EventRecordTransfer>(shared_context(), flow);
}

}  // namespace linkscope::gpu
