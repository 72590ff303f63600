// copy-with-setup: a copy between host memory and a GPU, and what a program does for that one copy alone.
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/runtime_allocation.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/allocation.hpp"
#include "base/steady_clock.hpp"
#include "model/copy_check.hpp"

namespace linkscope::gpu {
namespace {

enum class Setup { pin, allocate, first_use };
constexpr Parameter setup_parameter =
    word("setup", "register|allocate|first-use",
         "register: page-lock the host memory, copy, undo it; allocate: allocate the destination, copy, free "
         "it and "
         "wait; first-use: the first copy after a registration, which is not timed");

Setup setup_of(const Flow& flow) { return flow.parameters.choice<Setup>(setup_parameter); }

const Endpoint& host_end(const Flow& flow) {
  return flow.source->device.kind == DeviceKind::numa ? *flow.source : *flow.destination;
}

/// Memory is page-locked, or allocated, for one copy at a time. The copy has ended when its call counts as done.
class SetupTransfer final : public CallTransfer {
 public:
  SetupTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                std::optional<RuntimeCalls> calls)
      : CallTransfer(std::move(context), flow.executor.index),
        setup_(setup_of(flow)),
        bytes_(flow.bytes),
        arenas_(arenas),
        locked_(&host_end(flow) == &*flow.source ? arenas.source : arenas.destination),
        calls_(calls),
        data_(arenas.source, arenas.destination, flow.bytes, arenas.rotation) {
    if (calls_) request_ = request_for(*calls_, device(), bytes_, stream());
    if (setup_ == Setup::first_use) own_facts().max_repeats = 1;
  }
  ~SetupTransfer() override { static_cast<void>(unlock()); }
  SetupTransfer(const SetupTransfer&) = delete;
  SetupTransfer& operator=(const SetupTransfer&) = delete;

  void arm(std::uint64_t seed) override {
    CallTransfer::arm(seed);
    data_.arm(seed);
    started_ = 0;
  }
  void restore() override {
    CallTransfer::restore();
    saving_ = 0;
    if (setup_ != Setup::first_use) return;
    LINKSCOPE_CHECK(unlock());
    LINKSCOPE_CHECK(lock(started_));
  }
  void flush() override { data_.flush(); }
  [[nodiscard]] Bytes verified_bytes() const override { return data_.verified_bytes(transfers()); }
  /// What was allocated is saved for verification before it is freed: that time goes out.
  [[nodiscard]] Span counted(const Span& span) override {
    Span without = span;
    without.between += saving_;
    return without;
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> all = CallTransfer::notes();
    for (std::string& where : arenas_.residences()) all.push_back(std::move(where));
    return all;
  }

 private:
  [[nodiscard]] Bytes slot(std::uint64_t transfer) const {
    return transfer % arenas_.rotation.slots * arenas_.rotation.stride;
  }
  gpuError_t lock(std::uint64_t transfer) noexcept {
    std::byte* const at = locked_->data() + slot(transfer);
    const gpuError_t status = gpuHostRegister(at, bytes_, gpuHostRegisterPortable | gpuHostRegisterMapped);
    if (status == gpuSuccess) held_ = at;
    return status;
  }
  gpuError_t unlock() noexcept {
    std::byte* const at = std::exchange(held_, nullptr);
    return at == nullptr ? gpuSuccess : gpuHostUnregister(at);
  }
  gpuError_t copy(void* to, const void* from) noexcept {
    const gpuError_t status = gpuMemcpyAsync(to, from, bytes_, gpuMemcpyDefault, stream());
    return status == gpuSuccess ? gpuStreamSynchronize(stream()) : status;
  }

  gpuError_t call(std::uint64_t repeats) noexcept override {
    gpuError_t status = gpuSuccess;
    for (std::uint64_t i = 0; i < repeats && status == gpuSuccess; ++i) status = one(started_++);
    return status;
  }
  gpuError_t one(std::uint64_t transfer) noexcept {
    const std::byte* const from = arenas_.source->data() + slot(transfer);
    std::byte* const to = arenas_.destination->data() + slot(transfer);
    if (setup_ == Setup::allocate) return copy_to_fresh(to, from);
    gpuError_t status = setup_ == Setup::pin ? lock(transfer) : gpuSuccess;
    if (status == gpuSuccess) status = copy(to, from);
    const gpuError_t undone = setup_ == Setup::pin ? unlock() : gpuSuccess;
    return status == gpuSuccess ? undone : status;
  }
  gpuError_t copy_to_fresh(std::byte* to, const std::byte* from) noexcept {
    void* fresh = nullptr;
    gpuError_t status = calls_->take(&fresh, request_);
    if (status != gpuSuccess) return status;
    status = copy(fresh, from);
    const Seconds arrived = steady_seconds();
    if (status == gpuSuccess) status = copy(to, fresh);
    saving_ += steady_seconds() - arrived;
    const gpuError_t freed = calls_->give_back(fresh, request_);
    const gpuError_t settled = gpuStreamSynchronize(stream());  // a pool gives memory back to the device now
    if (status == gpuSuccess) status = freed;
    return status == gpuSuccess ? settled : status;
  }

  [[nodiscard]] std::optional<Mismatch> find_wrong(std::uint64_t seed) const override {
    return data_.verify(seed, transfers());
  }

  Setup setup_;
  Bytes bytes_;
  Arenas arenas_;
  Buffer* locked_;  ///< the host's
  std::optional<RuntimeCalls> calls_;
  CopyCheck data_;
  AllocationRequest request_{};
  std::byte* held_ = nullptr;  ///< what is page-locked at this moment
  std::uint64_t started_ = 0;  ///< since arm()
  Seconds saving_ = 0;         ///< since restore()
};

/// The destination's calls, where the runtime allocates it for one copy.
std::optional<RuntimeCalls> calls_for(const RuntimeCallTable& calls, const Endpoint& where) {
  const auto found = calls.find({where.memory, where.device.kind});
  if (found == calls.end() || where.traits.migrates || where.traits.registered) return std::nullopt;
  return found->second;
}

Support can_set_up(const GpuContext& context, const RuntimeCallTable& calls, const Flow& flow) {
  if (const Support complete = has_ends(context, flow, Ends::both); !complete) return complete;
  const bool from_host = flow.source->device.kind == DeviceKind::numa;
  const Endpoint& on_gpu = from_host ? *flow.destination : *flow.source;
  if (host_end(flow).device.kind != DeviceKind::numa || on_gpu.device != flow.executor)
    return Support::no(flow.method + " copies between host memory and its executor");
  if (setup_of(flow) == Setup::allocate) {
    if (calls_for(calls, *flow.destination)) return Support::yes();
    return Support::no("setup allocate is for memory that the runtime allocates, not " +
                       flow.destination->memory);
  }
  if (host_end(flow).traits.is_private()) return Support::yes();
  return Support::no("setup register and first-use page-lock pageable or huge memory, not " +
                     host_end(flow).memory);
}

}  // namespace

Method copy_with_setup(const std::shared_ptr<GpuContext>& context, const RuntimeCallTable& calls) {
  return gpu_row(
      context,
      {"copy-with-setup",
       "copies including setup: page-locking, allocation or first use",
       Quantity::bandwidth,
       {.leaves_pages = true, .host_gbps = 5, .gpu_gbps = 5}},
      {setup_parameter},
      [calls](GpuContext& gpus, const Flow& flow) { return can_set_up(gpus, calls, flow); },
      [calls](const std::shared_ptr<GpuContext>& gpus, const Flow& flow, const Arenas& arenas) {
        std::optional<RuntimeCalls> own;
        if (setup_of(flow) == Setup::allocate) {
          own = calls_for(calls, *flow.destination);
          const bool of_device = flow.destination->device.kind == DeviceKind::gpu;
          static_cast<void>(
              of_device ? host::blocks_to_hold(flow.bytes, gpus->free_memory(flow.executor.index), 1,
                                               "free memory of " + flow.executor.text())
                        : host::host_blocks_to_hold(flow.destination->traits, flow.bytes, std::nullopt, 1));
        }
        return std::make_unique<SetupTransfer>(gpus, flow, arenas, own);
      });
}

}  // namespace linkscope::gpu
