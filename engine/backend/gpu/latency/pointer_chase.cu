// pointer-chase: dependent loads by one thread of a GPU.
#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/latency/ring_order.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/memory/service_kernels.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

enum class RingIs { sequential, random };

constexpr Parameter stride_parameter =
    integer("stride", "bytes from pointer to pointer, a multiple of 8", 8, std::int64_t{1} << 40U, 128);
constexpr Parameter hops_parameter =
    integer("hops", "loads of one walk; unless set, 1024, in the executor's own memory 8192", 1,
            std::int64_t{1} << 40U);
constexpr Parameter order_parameter =
    word("order", "sequential|random", "in which the ring takes the memory");
constexpr Parameter locality_parameter =
    integer("locality", "of random order: bytes visited completely before moving on; unless set, all", 8,
            std::int64_t{1} << 48U);

constexpr std::int64_t default_hops_linked = 1024;
constexpr std::int64_t default_hops_local = 8192;
constexpr std::uint64_t share_of_processors = 8;
constexpr std::uint32_t bulk_bytes = 16;
/// Rings of up to so many nodes may fit the caches that a launch empties (first-level ones hold about 2000 lines).
constexpr std::uint64_t most_warmed = 4096;

/// The ring and its place, as the device sees it.
struct Ring {
  std::byte* base = nullptr;
  Bytes stride = 0;
  RingOrder order;

  [[nodiscard]] __host__ __device__ std::byte* node(std::uint64_t step) const {
    return base + order.place(step) * stride;
  }
};

/// Has each node point to the next.
struct LayRing {
  Ring ring;

  __device__ void operator()(std::uint64_t step) const {
    *reinterpret_cast<std::byte**>(ring.node(step)) = ring.node(step + 1);
  }
};

/// Walks tell how many of them ended right and wrong; the cycles of those that began with a lap, and of these laps.
enum Told : unsigned { told_right, told_wrong, told_cycles, told_lap_cycles, all_told };

/// Loads a pointer by the thread itself.
struct PlainHop {
  __device__ std::byte* operator()(const std::byte* at) { return *reinterpret_cast<std::byte* const*>(at); }
};

/// Has the copy unit bring a pointer and the 8 bytes behind it.
class BulkHop {
 public:
  __device__ BulkHop() {
    __shared__ __align__(16) std::byte landing[bulk_bytes];
    __shared__ std::uint64_t barrier;
    landing_ = landing;
    barrier_ = &barrier;
    vendor::bulk_barrier_init(barrier_);
  }
  __device__ std::byte* operator()(const std::byte* at) {
    vendor::bulk_load(landing_, at, bulk_bytes, barrier_);
    vendor::bulk_wait_loaded(barrier_, phase_);
    phase_ ^= 1U;
    return *reinterpret_cast<std::byte* volatile*>(landing_);
  }

 private:
  std::byte* landing_;
  std::uint64_t* barrier_;
  std::uint32_t phase_ = 0;
};

/// A grid of one thread per multiprocessor, of which one block works: `lap` hops, which come back to the start, and
/// then `hops` more.
template <class Hop>
__global__ void walk_ring(std::byte* start, const std::byte* expected, std::uint64_t lap, std::uint64_t hops,
                          unsigned working_block, std::uint64_t* told) {
  if (blockIdx.x != working_block) return;
  auto* const counters = reinterpret_cast<Counter*>(told);
  Hop next;
  std::byte* at = start;
  std::uint64_t began = 0;
  std::uint64_t warm = 0;
  if (lap > 0) {
    began = vendor::cycles_once(at);
    for (std::uint64_t hop = 0; hop < lap; ++hop) at = next(at);
    warm = vendor::cycles_once(at);
  }
  for (std::uint64_t hop = 0; hop < hops; ++hop) at = next(at);
  if (lap > 0) {
    atomicAdd(counters + told_cycles, vendor::cycles_once(at) - began);
    atomicAdd(counters + told_lap_cycles, warm - began);
  }
  atomicAdd(counters + (at == expected ? told_right : told_wrong), Counter{1});
}

using WalkKernel = decltype(&walk_ring<PlainHop>);

/// A flow's parameters, worked out.
struct ChaseGeometry {
  Bytes stride;
  std::uint64_t hops;
  std::uint64_t nodes;  ///< of a piece
  std::uint64_t pieces;
  bool scattered;

  [[nodiscard]] std::uint64_t all_nodes() const { return pieces * nodes; }
};

ChaseGeometry geometry_of(const Flow& flow) {
  const bool local = flow.source->device == flow.executor;
  const std::int64_t stride = flow.parameters.number(stride_parameter);
  const std::int64_t hops =
      flow.parameters.given_number(hops_parameter).value_or(local ? default_hops_local : default_hops_linked);
  if (stride % 8 != 0) throw Error(Fault::bad_input, "parameter stride: a multiple of 8 bytes");
  const auto step = static_cast<Bytes>(stride);
  if (flow.bytes < step)
    throw Error(Fault::unsupported, "a pointer chase needs at least one stride of memory");
  const std::int64_t locality =
      flow.parameters.given_number(locality_parameter).value_or(static_cast<std::int64_t>(flow.bytes));
  if (locality < stride) throw Error(Fault::bad_input, "parameter locality: at least one stride");
  const std::uint64_t all = flow.bytes / step;
  const std::uint64_t nodes = std::min(static_cast<Bytes>(locality) / step, all);
  return {step, static_cast<std::uint64_t>(hops), nodes, all / nodes,
          flow.parameters.choice<RingIs>(order_parameter) == RingIs::random};
}

class GpuPointerChaseTransfer final : public GpuTransfer {
 public:
  GpuPointerChaseTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas,
                          WalkKernel walk)
      : context_(std::move(context)),
        device_(flow.executor.index),
        memory_(*arenas.source),
        geometry_(geometry_of(flow)),
        walk_(walk),
        reached_(context_->reach(device_, memory_)),
        told_(*context_, device_, all_told),
        lap_(geometry_.all_nodes() <= most_warmed ? geometry_.all_nodes() : 0) {
    if (memory_.bytes() < extent()) {
      throw Error(Fault::bad_input, "the source holds fewer bytes than the flow says");
    }
    ring_.base = reached_.address;
    ring_.stride = geometry_.stride;
    const auto processors = static_cast<std::uint64_t>(context_->device(device_).multiprocessors);
    walks_ = (processors + share_of_processors - 1) / share_of_processors;
    // Neighbouring walks are an eighth of the device apart; prime to its size, so that every one has its turn.
    processor_step_ = share_of_processors;
    while (std::gcd(processor_step_, processors) != 1) ++processor_step_;
    context_->load(device_, {reinterpret_cast<const void*>(walk_)});
    own_facts().operations = walks_ * geometry_.hops;
    own_facts().max_repeats = std::max<std::uint64_t>(queue_share / walks_, 1);
    own_facts().setting = {{"hops", static_cast<std::int64_t>(geometry_.hops)},
                           {"stride", static_cast<std::int64_t>(geometry_.stride)},
                           {"walks", static_cast<std::int64_t>(walks_)}};
    if (lap_ > 0) own_facts().setting.emplace_back("lap", static_cast<std::int64_t>(lap_));
  }

  [[nodiscard]] int device() const override { return device_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    const auto processors = static_cast<unsigned>(context_->device(device_).multiprocessors);
    for (std::uint64_t walk = 0; walk < repeats * walks_; ++walk, ++walked_) {
      const std::uint64_t step = walked_ * geometry_.hops;
      const auto block = static_cast<unsigned>(turn_++ * processor_step_ % processors);
      walk_<<<processors, 1, 0, stream>>>(ring_.node(step), ring_.node(step + geometry_.hops), lap_,
                                          geometry_.hops, block, told_.data());
      LINKSCOPE_CHECK(gpuGetLastError());
    }
  }

  void arm(std::uint64_t seed) override {
    ring_.order = geometry_.scattered ? RingOrder::random(geometry_.nodes, geometry_.pieces, seed)
                                      : RingOrder::sequential(geometry_.all_nodes());
    const Endpoint& where = memory_.where();
    if (where.device.kind == DeviceKind::numa && !where.traits.uncached) {
      lay_on_host();
    } else {
      visit_all(*context_, device_, ring_.order.nodes(), LayRing{ring_});
    }
    told_.clear();
    counted_ = {};
    walked_ = 0;
  }

  /// Laps are a share of the walks' cycles: that share of the span goes out.
  [[nodiscard]] Span counted(const Span& span) override {
    if (lap_ == 0) return span;
    const std::vector<std::uint64_t> told = told_.read();
    const Cycles before = std::exchange(counted_, {told[told_cycles], told[told_lap_cycles]});
    const auto all = static_cast<double>(counted_.all - before.all);
    if (all == 0) return span;
    const double share = 1 - static_cast<double>(counted_.laps - before.laps) / all;
    Span without_laps = span;
    without_laps.end = span.start + share * span.length();
    return without_laps;
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    const std::vector<std::uint64_t> told = told_.read();
    if (told[told_right] == walked_ && told[told_wrong] == 0) return std::nullopt;
    return Mismatch{std::to_string(walked_ - told[told_right]) + " of " + std::to_string(walked_) +
                    " walks of " + std::to_string(geometry_.hops) + " hops did not end where the ring says"};
  }
  [[nodiscard]] Bytes verified_bytes() const override { return walked_ * sizeof(std::byte*); }
  void flush() override { memory_.flush(0, extent()); }
  [[nodiscard]] std::vector<std::string> notes() const override {
    const std::string where = memory_.residence();
    return where.empty() ? std::vector<std::string>{} : std::vector<std::string>{where};
  }

 private:
  struct Cycles {
    std::uint64_t all = 0;
    std::uint64_t laps = 0;
  };

  [[nodiscard]] Bytes extent() const { return geometry_.all_nodes() * geometry_.stride; }
  void lay_on_host() const {
    context_->run_on_node(memory_.where().device.index, [this] {
      for (std::uint64_t step = 0; step < ring_.order.nodes(); ++step) {
        const auto at = ring_.node(step) - ring_.base;
        *reinterpret_cast<std::byte**>(memory_.data() + at) = ring_.node(step + 1);
      }
    });
  }

  std::shared_ptr<GpuContext> context_;
  int device_;
  Buffer& memory_;
  ChaseGeometry geometry_;
  WalkKernel walk_;
  PeerMapping reached_;
  DeviceWords told_;
  std::uint64_t lap_;  ///< untimed hops at the start of each walk: once round the ring
  Ring ring_;
  std::uint64_t walks_ = 1;  ///< in one transfer
  std::uint64_t processor_step_ = 1;
  std::uint64_t turn_ = 0;    ///< never goes back: multiprocessors serve equally often over all rounds
  std::uint64_t walked_ = 0;  ///< since arm()
  Cycles counted_;            ///< of them, those of starts that have been counted
};

Support takes_chase(GpuContext& gpus, const Flow& flow) {
  const Support reached = kernels_reach(gpus, flow, Ends::source);
  if (reached) static_cast<void>(geometry_of(flow));
  return reached;
}

Support takes_bulk_chase(GpuContext& gpus, const Flow& flow) {
  if (const Support taken = takes_chase(gpus, flow); !taken) return taken;
  if (geometry_of(flow).stride % bulk_bytes != 0)
    return Support::no("bulk-chase: stride is a multiple of 16");
  gpus.use(flow.executor.index);
  std::string reason =
      vendor::no_bulk_copy(flow.executor.index, reinterpret_cast<const void*>(&walk_ring<BulkHop>));
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

Method chase_row(const std::shared_ptr<GpuContext>& gpus, const MethodSpec& spec, const AskGpus& supports,
                 WalkKernel walk) {
  Method row =
      gpu_row(gpus, spec, {stride_parameter, hops_parameter, order_parameter, locality_parameter}, supports,
              [walk](const std::shared_ptr<GpuContext>& context, const Flow& flow,
                     const Arenas& arenas) -> std::unique_ptr<Transfer> {
                return std::make_unique<GpuPointerChaseTransfer>(context, flow, arenas, walk);
              });
  row.rotation_bytes = [](const Flow& /*flow*/) { return Bytes{0}; };  // the ring is the cache state
  return row;
}

}  // namespace

Method gpu_pointer_chase(const std::shared_ptr<GpuContext>& gpus) {
  return chase_row(
      gpus, {"pointer-chase", "dependent loads by one GPU thread", Quantity::latency, pointer_chase_traits},
      &takes_chase, &walk_ring<PlainHop>);
}

Method bulk_chase(const std::shared_ptr<GpuContext>& gpus) {
  return chase_row(gpus,
                   {"bulk-chase", "dependent 16-byte bulk copies to shared memory by one GPU thread (TMA)",
                    Quantity::latency, pointer_chase_traits},
                   &takes_bulk_chase, &walk_ring<BulkHop>);
}

}  // namespace linkscope::gpu
