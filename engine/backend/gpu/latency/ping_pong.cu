// ping-pong: two GPUs answer one another through flags in memory.
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

constexpr Parameter ordering_parameter =
    word("ordering", "relaxed|release",
         "relaxed: the flag alone; release: stores release and loads acquire, as flags that guard data must");
constexpr Parameter round_trips_parameter =
    integer("round_trips", "round trips in one launch", 1, std::int64_t{1} << 32U, 1000);
constexpr Parameter responder_parameter =
    text("responder", "the GPU that answers; unless set, the end that is not the executor");

constexpr Seconds timeout = 10.0;
constexpr unsigned polls_between_looks = 1U << 12U;  // reading the clock at every poll would slow the polls

/// relaxed: the flag alone. release: the flag publishes what its writer wrote before, as a flag that guards data must.
enum class Ordering { relaxed, release };

template <Ordering ordering>
__device__ std::uint64_t load(const std::uint64_t* flag) {
  if constexpr (ordering == Ordering::release) return vendor::load_acquire_system(flag);
  return vendor::load_relaxed_system(flag);
}

template <Ordering ordering>
__device__ void store(std::uint64_t* flag, std::uint64_t value) {
  if constexpr (ordering == Ordering::release) {
    vendor::store_release_system(flag, value);
  } else {
    vendor::store_relaxed_system(flag, value);
  }
}

/// Polls `flag` until it holds `value`. Says no when `timeout_ticks` have passed.
template <Ordering ordering>
__device__ bool await(const std::uint64_t* flag, std::uint64_t value, std::uint64_t timeout_ticks) {
  const std::uint64_t begin = vendor::device_ticks();
  for (unsigned poll = 1;; ++poll) {
    if (load<ordering>(flag) == value) return true;
    if (poll % polls_between_looks == 0 && vendor::device_ticks() - begin > timeout_ticks) return false;
  }
}

/// Both kernels count the round trips they completed into *completed.
template <Ordering ordering>
__global__ void initiate(std::uint64_t* serve_to, const std::uint64_t* answer_at, std::uint64_t first,
                         std::uint64_t round_trips, std::uint64_t timeout_ticks, std::uint64_t* completed) {
  for (std::uint64_t value = first; value != first + round_trips; ++value) {
    store<ordering>(serve_to, value);
    if (!await<ordering>(answer_at, value, timeout_ticks)) return;
  }
  *completed += round_trips;
}

template <Ordering ordering>
__global__ void respond(const std::uint64_t* serve_at, std::uint64_t* answer_to, std::uint64_t first,
                        std::uint64_t round_trips, std::uint64_t timeout_ticks, std::uint64_t* completed) {
  for (std::uint64_t value = first; value != first + round_trips; ++value) {
    if (!await<ordering>(serve_at, value, timeout_ticks)) return;
    store<ordering>(answer_to, value);
  }
  *completed += round_trips;
}

/// The two sides' kernels of one ordering.
struct PingPongKernels {
  decltype(&initiate<Ordering::relaxed>) initiate;
  decltype(&respond<Ordering::relaxed>) respond;

  static PingPongKernels of(const Flow& flow) {
    if (flow.parameters.choice<Ordering>(ordering_parameter) == Ordering::relaxed)
      return {&gpu::initiate<Ordering::relaxed>, &gpu::respond<Ordering::relaxed>};
    return {&gpu::initiate<Ordering::release>, &gpu::respond<Ordering::release>};
  }
};

/// The GPU that answers: parameter `responder`, or the end that is not the executor.
DeviceId responder_of(const Flow& flow) {
  if (const auto named = flow.parameters.given_text(responder_parameter)) return DeviceId::parse(*named);
  for (const auto& end : {flow.destination, flow.source}) {
    if (end->device.kind == DeviceKind::gpu && end->device != flow.executor) return end->device;
  }
  return flow.executor;
}

class PingPongTransfer final : public GpuTransfer {
 public:
  PingPongTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : context_(std::move(context)),
        initiator_(flow.executor.index),
        responder_(responder_of(flow).index),
        arenas_(arenas),
        game_(PingPongKernels::of(flow)),
        round_trips_(static_cast<std::uint64_t>(flow.parameters.number(round_trips_parameter))),
        initiated_(*context_, initiator_, 1),
        responded_(*context_, responder_, 1),
        stream_(*context_, responder_) {
    serve_ = {flag(initiator_, *arenas.destination), flag(responder_, *arenas.destination)};
    answer_ = {flag(initiator_, *arenas.source), flag(responder_, *arenas.source)};
    context_->load(initiator_, {reinterpret_cast<const void*>(game_.initiate)});
    context_->load(responder_, {reinterpret_cast<const void*>(game_.respond)});
    own_facts().operations = 2 * round_trips_;
    own_facts().setting = {{"round_trips", static_cast<std::int64_t>(round_trips_)},
                           {"responder", responder_}};
  }

  [[nodiscard]] int device() const override { return initiator_; }

  /// The responder is launched first: it polls while the initiator's gate is still closed.
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    const auto timeout_ticks = static_cast<std::uint64_t>(timeout * vendor::ticks_per_second);
    const std::uint64_t round_trips = repeats * round_trips_;
    LINKSCOPE_CHECK(gpuSetDevice(responder_));
    game_.respond<<<1, 1, 0, stream_.get()>>>(serve_.responder, answer_.responder, next_, round_trips,
                                              timeout_ticks, responded_.data());
    LINKSCOPE_CHECK(gpuGetLastError());
    LINKSCOPE_CHECK(gpuSetDevice(initiator_));
    game_.initiate<<<1, 1, 0, stream>>>(serve_.initiator, answer_.initiator, next_, round_trips,
                                        timeout_ticks, initiated_.data());
    LINKSCOPE_CHECK(gpuGetLastError());
    next_ += round_trips;
    played_ += round_trips;
  }

  void arm(std::uint64_t seed) override {
    for (Buffer* buffer : {arenas_.source, arenas_.destination}) buffer->poison(0, sizeof(std::uint64_t));
    initiated_.clear();
    responded_.clear();
    next_ = pattern_word(seed, 0);
    played_ = 0;
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    if (played_ == 0) return std::nullopt;
    LINKSCOPE_CHECK(gpuSetDevice(responder_));
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream_.get()));
    const std::uint64_t initiated = initiated_.read().front();
    const std::uint64_t responded = responded_.read().front();
    const std::uint64_t served = stands_at(serve_.initiator);
    const std::uint64_t answered = stands_at(answer_.initiator);
    if (initiated == played_ && responded == played_ && served == next_ - 1 && answered == next_ - 1) {
      return std::nullopt;
    }
    return Mismatch{"of " + std::to_string(played_) + " round trips the initiator completed " +
                    std::to_string(initiated) + " and the responder " + std::to_string(responded) +
                    ": stores of one GPU do not reach the other in time"};
  }
  [[nodiscard]] Bytes verified_bytes() const override { return 2 * sizeof(std::uint64_t); }
  void flush() override {
    for (Buffer* buffer : {arenas_.source, arenas_.destination}) buffer->flush(0, sizeof(std::uint64_t));
  }

 private:
  /// One flag by each side's address.
  struct Flag {
    std::uint64_t* initiator = nullptr;
    std::uint64_t* responder = nullptr;
  };

  std::uint64_t* flag(int device, const Buffer& buffer) {
    return reinterpret_cast<std::uint64_t*>(reached_.emplace_back(context_->reach(device, buffer)).address);
  }
  [[nodiscard]] std::uint64_t stands_at(const std::uint64_t* address) const {
    const gpuStream_t stream = context_->service_stream(initiator_);
    std::uint64_t word = 0;
    LINKSCOPE_CHECK(gpuMemcpyAsync(&word, address, sizeof word, gpuMemcpyDefault, stream));
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
    return word;
  }

  std::shared_ptr<GpuContext> context_;
  int initiator_;
  int responder_;
  Arenas arenas_;
  PingPongKernels game_;
  std::uint64_t round_trips_;
  DeviceWords initiated_;
  DeviceWords responded_;
  std::vector<PeerMapping> reached_;
  Flag serve_;
  Flag answer_;
  std::uint64_t next_ = 0;
  std::uint64_t played_ = 0;  ///< since arm()
  OwnStream stream_;          ///< the responder's; ordered, so that one sample's responder follows another's
};

Support takes_ping_pong(GpuContext& gpus, const Flow& flow) {
  if (const Support reached = kernels_reach(gpus, flow, Ends::both); !reached) return reached;
  const DeviceId responder = responder_of(flow);
  if (const Support here = gpus.has(responder); !here) return here;
  if (responder == flow.executor) return Support::no("ping-pong needs a second GPU to answer");
  for (const auto& end : {flow.source, flow.destination}) {
    if (const Support reached = gpus.reachable(responder.index, *end); !reached) return reached;
  }
  return flow.bytes < sizeof(std::uint64_t) ? Support::no("a flag takes 8 bytes") : Support::yes();
}

}  // namespace

Method ping_pong(const std::shared_ptr<GpuContext>& gpus) {
  Method row = gpu_row(gpus,
                       {"ping-pong",
                        "flags stored and polled by two GPUs in turn; half the round trip",
                        Quantity::latency,
                        {.dependent = true}},
                       {ordering_parameter, round_trips_parameter, responder_parameter}, &takes_ping_pong,
                       &make<PingPongTransfer>);
  row.rotation_bytes = [](const Flow& /*flow*/) { return Bytes{0}; };  // a flag is one line
  return row;
}

}  // namespace linkscope::gpu
