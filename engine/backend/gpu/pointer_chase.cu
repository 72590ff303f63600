// pointer-chase: see the header.
#include "backend/gpu/pointer_chase.hpp"

#include <algorithm>
#include <numeric>

#include "backend/gpu/chase_order.hpp"
#include "backend/gpu/check.hpp"
#include "backend/gpu/device_words.hpp"
#include "backend/gpu/transfer.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

using vendor::Counter;

constexpr std::int64_t default_stride = 128;
constexpr std::int64_t default_hops_linked = 1024;
constexpr std::int64_t default_hops_local = 8192;
constexpr std::uint64_t share_of_processors = 8;

/// Where the ring lies, as the device sees it.
struct Ring {
  std::byte* base = nullptr;
  Bytes stride = 0;
  ChaseOrder order;

  [[nodiscard]] __host__ __device__ std::byte* node(std::uint64_t step) const {
    return base + order.place(step) * stride;
  }
};

__global__ void lay_ring(Ring ring) {
  const std::uint64_t threads = gridDim.x * static_cast<std::uint64_t>(blockDim.x);
  for (std::uint64_t step = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
       step < ring.order.nodes; step += threads) {
    *reinterpret_cast<std::byte**>(ring.node(step)) = ring.node(step + 1);
  }
}

/// A grid of one thread per multiprocessor, of which one block works. Counts ends that are right and wrong.
__global__ void walk_ring(std::byte* start, const std::byte* expected, std::uint64_t hops,
                          unsigned working_block, std::uint64_t* right_and_wrong) {
  if (blockIdx.x != working_block) return;
  std::byte* at = start;
  for (std::uint64_t hop = 0; hop < hops; ++hop) at = *reinterpret_cast<std::byte**>(at);
  atomicAdd(reinterpret_cast<Counter*>(right_and_wrong) + (at == expected ? 0 : 1), Counter{1});
}

/// What a flow's parameters come to.
struct Shape {
  Bytes stride;
  std::uint64_t hops;
  std::uint64_t nodes;
  bool scattered;
};

Shape shape_of(const Flow& flow) {
  const bool local = flow.source->device == flow.executor;
  const std::int64_t stride = flow.parameters.number("stride", default_stride);
  const std::int64_t hops = flow.parameters.number("hops", local ? default_hops_local : default_hops_linked);
  const std::string order = flow.parameters.word("order", "sequential");
  if (stride < 8 || stride % 8 != 0) throw Error(Fault::bad_input, "parameter stride: a multiple of 8 bytes");
  if (hops < 1) throw Error(Fault::bad_input, "parameter hops: at least 1");
  if (order != "sequential" && order != "random") {
    throw Error(Fault::bad_input, "parameter order: '" + order + "' is neither sequential nor random");
  }
  const auto step = static_cast<Bytes>(stride);
  if (flow.bytes < step)
    throw Error(Fault::unsupported, "a pointer chase needs at least one stride of memory");
  return {step, static_cast<std::uint64_t>(hops), flow.bytes / step, order == "random"};
}

class ChaseTransfer final : public GpuTransfer {
 public:
  ChaseTransfer(std::shared_ptr<Context> context, const Flow& flow, const Arenas& arenas)
      : context_(std::move(context)),
        device_(flow.executor.index),
        memory_(*arenas.source),
        shape_(shape_of(flow)),
        reached_(context_->reach(device_, memory_)),
        ends_(*context_, device_, 2) {
    if (memory_.bytes() < shape_.nodes * shape_.stride) {
      throw Error(Fault::bad_input, "the source holds fewer bytes than the flow says");
    }
    ring_.base = reached_.address;
    ring_.stride = shape_.stride;
    const auto processors = static_cast<std::uint64_t>(context_->device(device_).multiprocessors);
    walks_ = (processors + share_of_processors - 1) / share_of_processors;
    // Neighbouring walks are an eighth of the device apart; prime to its size, so that every one has its turn.
    processor_step_ = share_of_processors;
    while (std::gcd(processor_step_, processors) != 1) ++processor_step_;
    context_->load(device_,
                   {reinterpret_cast<const void*>(&lay_ring), reinterpret_cast<const void*>(&walk_ring)});
  }

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] std::uint64_t operations() const override { return walks_ * shape_.hops; }
  [[nodiscard]] std::uint64_t max_repeats() const override {
    return std::max<std::uint64_t>(queue_share / walks_, 1);
  }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    const auto processors = static_cast<unsigned>(context_->device(device_).multiprocessors);
    for (std::uint64_t walk = 0; walk < repeats * walks_; ++walk, ++walked_) {
      const std::uint64_t step = walked_ * shape_.hops;
      const auto block = static_cast<unsigned>(turn_++ * processor_step_ % processors);
      walk_ring<<<processors, 1, 0, stream>>>(ring_.node(step), ring_.node(step + shape_.hops), shape_.hops,
                                              block, ends_.data());
      LINKSCOPE_CHECK(gpuGetLastError());
    }
  }

  void arm(std::uint64_t seed) override {
    ring_.order =
        shape_.scattered ? ChaseOrder::random(shape_.nodes, seed) : ChaseOrder::sequential(shape_.nodes);
    const Endpoint& where = memory_.where();
    if (where.device.kind == DeviceKind::numa && where.memory != "write-combined") {
      lay_on_host();
    } else {
      lay_on_device();
    }
    ends_.clear();
    walked_ = 0;
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    const std::vector<std::uint64_t> ends = ends_.read();
    if (ends[0] == walked_ && ends[1] == 0) return std::nullopt;
    return Mismatch{std::to_string(walked_ - ends[0]) + " of " + std::to_string(walked_) + " walks of " +
                    std::to_string(shape_.hops) + " hops did not end where the ring says"};
  }
  [[nodiscard]] Bytes verified_bytes() const override { return walked_ * sizeof(std::byte*); }
  void flush() override { memory_.flush(0, shape_.nodes * shape_.stride); }
  [[nodiscard]] Setting setting() const override {
    return {{"hops", static_cast<std::int64_t>(shape_.hops)},
            {"stride", static_cast<std::int64_t>(shape_.stride)},
            {"walks", static_cast<std::int64_t>(walks_)}};
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    const std::string where = memory_.residence();
    return where.empty() ? std::vector<std::string>{} : std::vector<std::string>{where};
  }

 private:
  void lay_on_device() const {
    constexpr unsigned threads = 256;
    const auto blocks = static_cast<unsigned>(4 * context_->device(device_).multiprocessors);
    const gpuStream_t stream = context_->service_stream(device_);
    lay_ring<<<blocks, threads, 0, stream>>>(ring_);
    LINKSCOPE_CHECK(gpuGetLastError());
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  }
  void lay_on_host() const {
    context_->run_on_node(memory_.where().device.index, [this] {
      for (std::uint64_t step = 0; step < ring_.order.nodes; ++step) {
        const auto at = ring_.node(step) - ring_.base;
        *reinterpret_cast<std::byte**>(memory_.data() + at) = ring_.node(step + 1);
      }
    });
  }

  std::shared_ptr<Context> context_;
  int device_;
  Buffer& memory_;
  Shape shape_;
  Reached reached_;
  DeviceWords ends_;
  Ring ring_;
  std::uint64_t walks_ = 1;  ///< in one transfer
  std::uint64_t processor_step_ = 1;
  std::uint64_t turn_ = 0;    ///< never goes back: multiprocessors serve equally often over all rounds
  std::uint64_t walked_ = 0;  ///< since arm()
};

}  // namespace

std::map<std::string, std::string> PointerChase::own_parameters() const {
  return {{"stride", "bytes from pointer to pointer; default 128"},
          {"hops", "loads of one walk; default 1024, in the executor's own memory 8192"},
          {"order", "sequential (default) or random"}};
}

Support PointerChase::supports(const Flow& flow) const {
  const Support reached = kernels_reach(flow, Ends::source);
  if (reached) static_cast<void>(shape_of(flow));
  return reached;
}

std::unique_ptr<Transfer> PointerChase::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<ChaseTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
