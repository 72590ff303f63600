// pointer-chase on a CPU: the time of one dependent load.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "backend/host/backend.hpp"
#include "backend/host/chase_order.hpp"
#include "backend/host/host_transfer.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 48U;
constexpr Parameter stride = integer("stride", "bytes between nodes, a multiple of 8", 8, most, 256);
constexpr Parameter locality =
    integer("locality", "bytes visited completely, in random order, before moving on", 1, most, 64 * 4096);
constexpr Parameter hops = integer("hops", "dependent loads in one transfer", 1, most, 16384);

using Link = const void*;

Link follow(Link at) { return *static_cast<const Link*>(at); }

/// `count` dependent loads. Unrolled so that the loop's own instructions vanish beside a 1 ns load.
Link chase(Link at, std::uint64_t count) {
  for (; count >= 64; count -= 64) {
#pragma GCC unroll 64
    for (int i = 0; i < 64; ++i) at = follow(at);
  }
  for (; count > 0; --count) at = follow(at);
  return at;
}

ChaseShape shape_of(const Flow& flow) {
  return {flow.bytes, static_cast<Bytes>(flow.parameters.number(stride)),
          static_cast<Bytes>(flow.parameters.number(locality))};
}

class HostPointerChaseTransfer final : public HostTransfer {
 public:
  HostPointerChaseTransfer(const Flow& flow, const Arenas& arenas, WorkerPool& workers)
      : HostTransfer(flow.executor.index, 1),
        shape_(shape_of(flow)),
        hops_(static_cast<std::uint64_t>(flow.parameters.number(hops))),
        arenas_(arenas),
        workers_(workers) {
    own_facts().operations = hops_;
  }

  void arm(std::uint64_t seed) override {
    Transfer::arm(seed);
    order_.emplace(shape_, seed);
    at_ = address(0);
    bool whole = false;
    workers_.run([&] {
      link();
      whole = !first_damaged();
    });
    if (!whole) throw Error(Fault::broken, "the chase's pointers do not form one cycle");
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    const std::uint64_t followed = transfers() * hops_;
    if (at_ != address(followed))
      return Mismatch{"after " + std::to_string(followed) + " hops the chase is not where its order says"};
    if (const auto step = first_damaged())
      return Mismatch{"the pointer at byte " + std::to_string(order_->offset(*step)) + " of " +
                      std::to_string(shape_.span) + " is damaged"};
    return std::nullopt;
  }
  [[nodiscard]] Bytes verified_bytes() const override { return shape_.nodes() * sizeof(Link); }
  void flush() override { arenas_.source->flush(0, shape_.span); }
  [[nodiscard]] std::vector<std::string> notes() const override { return arenas_.residences(); }

  void perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept override {
    at_ = chase(at_, repeats * hops_);
  }

 private:
  [[nodiscard]] std::byte* address(std::uint64_t step) const {
    return arenas_.source->data() + order_->offset(step);
  }

  void link() const {
    std::byte* at = address(0);
    for (std::uint64_t step = 1; step <= order_->size(); ++step) {
      std::byte* const next = address(step);
      std::memcpy(at, static_cast<const void*>(&next), sizeof next);
      at = next;
    }
  }

  /// The first step whose pointer does not lead to the next one. Its loads do not wait for one another, which for memory
  /// is ten times as fast as to chase, and leave the caches as a chase that has gone on for long leaves them.
  [[nodiscard]] std::optional<std::uint64_t> first_damaged() const {
    const std::byte* at = address(0);
    for (std::uint64_t step = 0; step < order_->size(); ++step) {
      const std::byte* const next = address(step + 1);
      if (follow(at) != next) return step;
      at = next;
    }
    return std::nullopt;
  }

  ChaseShape shape_;
  std::uint64_t hops_;
  Arenas arenas_;
  WorkerPool& workers_;
  std::optional<ChaseOrder> order_;  ///< since it was armed
  Link at_ = nullptr;
};

/// The draws of multichase: glibc's random_r on 32 bytes of state, 16 bits of four numbers each.
class MultichaseDraws {
 public:
  MultichaseDraws() { initstate_r(1, state_.data(), state_.size(), &data_); }

  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t word = 0;
    for (unsigned part = 0; part < 4; ++part) {
      std::int32_t number = 0;
      random_r(&data_, &number);
      word |= (static_cast<std::uint64_t>(number) & 0xFFFFU) << (16 * part);
    }
    return word % bound;
  }

 private:
  std::array<char, 32> state_{};
  random_data data_{};
};

/// Draws a permutation of `count` words as multichase does and returns its first element.
std::uint64_t first_of_permutation(std::uint64_t count, MultichaseDraws& draws) {
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < count;
       ++i) {  // word i goes to a drawn place, what was there moves to place i
    if (draws.below(i + 1) == 0) first = i;
  }
  return first;
}

}  // namespace

ChaseOrder::ChaseOrder(const ChaseShape& shape, std::uint64_t seed) : stride_(shape.stride) {
  MultichaseDraws draws;
  for (Bytes& word : word_) word = first_of_permutation(shape.stride / sizeof(void*), draws) * sizeof(void*);

  const std::uint64_t nodes = shape.nodes();
  const std::uint64_t piece = std::clamp<std::uint64_t>(shape.locality / shape.stride, 1, nodes);
  std::vector<std::uint32_t> pieces((nodes + piece - 1) / piece);
  std::iota(pieces.begin(), pieces.end(), 0U);
  std::mt19937_64 random(seed);
  std::shuffle(pieces.begin(), pieces.end(), random);

  order_.reserve(nodes);
  for (const std::uint64_t at : pieces) {
    const auto begin = static_cast<std::ptrdiff_t>(order_.size());
    const std::uint64_t end = std::min(nodes, (at + 1) * piece);
    for (std::uint64_t node = at * piece; node < end; ++node)
      order_.push_back(static_cast<std::uint32_t>(node));
    std::shuffle(order_.begin() + begin, order_.end(), random);
  }
}

Method host_pointer_chase(const std::shared_ptr<HostContext>& context) {
  Method row{{"pointer-chase", "latency of dependent loads in random order", Quantity::latency,
              pointer_chase_traits},
             {stride, locality, hops}};
  row.supports = [context](const Flow& flow) {
    if (!flow.source || flow.destination)
      return Support::no("pointer-chase reads a source and has no destination");
    if (const Support reached = context->reachable(*flow.source); !reached) return reached;
    if (const Support executor = context->can_execute(flow.executor); !executor) return executor;
    if (flow.parameters.number(stride) % 8 != 0) return Support::no("stride must be a multiple of 8");
    const std::uint64_t nodes = shape_of(flow).nodes();
    if (nodes < 2)
      return Support::no(std::to_string(flow.bytes) + " B hold fewer than two nodes at this stride");
    if (nodes > std::numeric_limits<std::uint32_t>::max())
      return Support::no("more than 2^32 nodes: use a larger stride");
    return Support::yes();
  };
  row.prepare = [context](const Flow& flow, const Arenas& arenas) {
    return std::make_unique<HostPointerChaseTransfer>(flow, arenas, context->workers(flow.executor.index));
  };
  return row;
}

}  // namespace linkscope::host
