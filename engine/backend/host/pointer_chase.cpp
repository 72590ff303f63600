#include "backend/host/pointer_chase.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/host/chase_order.hpp"
#include "backend/host/host_transfer.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

constexpr std::int64_t default_stride = 256;
constexpr std::int64_t default_locality = 64 * 4096;
constexpr std::int64_t default_hops = 16384;

using Link = const void*;

Link follow(Link at) { return *static_cast<const Link*>(at); }

/// `hops` dependent loads. Unrolled so that the loop's own instructions vanish beside a 1 ns load.
Link chase(Link at, std::uint64_t hops) {
  for (; hops >= 64; hops -= 64) {
#pragma GCC unroll 64
    for (int i = 0; i < 64; ++i) at = follow(at);
  }
  for (; hops > 0; --hops) at = follow(at);
  return at;
}

ChaseShape shape_of(const Flow& flow) {
  return {flow.bytes, static_cast<Bytes>(flow.parameters.number("stride", default_stride)),
          static_cast<Bytes>(flow.parameters.number("locality", default_locality))};
}

class HostPointerChaseTransfer final : public HostTransfer {
 public:
  HostPointerChaseTransfer(const Flow& flow, Buffer& span, WorkerPool& workers)
      : HostTransfer(flow.executor.index, 1),
        shape_(shape_of(flow)),
        hops_(static_cast<std::uint64_t>(flow.parameters.number("hops", default_hops))),
        span_(span),
        workers_(workers),
        order_(shape_, 0) {
    own_facts().operations = hops_;
  }

  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return shape_.nodes() * sizeof(Link); }
  void flush() override { span_.flush(0, shape_.span); }
  [[nodiscard]] std::vector<std::string> notes() const override;

  void perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept override {
    at_ = chase(at_, repeats * hops_);
  }

 private:
  [[nodiscard]] std::byte* address(std::uint64_t step) const { return span_.data() + order_.offset(step); }
  void link() const;
  [[nodiscard]] bool is_one_cycle() const;

  ChaseShape shape_;
  std::uint64_t hops_;
  Buffer& span_;
  WorkerPool& workers_;
  ChaseOrder order_;
  Link at_ = nullptr;
};

void HostPointerChaseTransfer::link() const {
  for (std::uint64_t step = 0; step < order_.size(); ++step) {
    const Link next = address(step + 1);
    std::memcpy(address(step), &next, sizeof next);
  }
}

/// Walks the memory itself, not the order, and meets every node once. Leaves the caches as a chase that has
/// gone on for long leaves them.
bool HostPointerChaseTransfer::is_one_cycle() const {
  std::vector<bool> met(order_.size(), false);
  Link at = address(0);
  for (std::uint64_t hop = 0; hop < order_.size(); ++hop) {
    const auto offset = static_cast<Bytes>(static_cast<const std::byte*>(at) - span_.data());
    const Bytes node = offset / shape_.stride;
    if (node >= order_.size() || met[node]) return false;
    met[node] = true;
    at = follow(at);
  }
  return at == address(0);
}

void HostPointerChaseTransfer::arm(std::uint64_t seed) {
  restart();
  order_ = ChaseOrder(shape_, seed);
  at_ = address(0);
  bool whole = false;
  workers_.run([&] {
    link();
    whole = is_one_cycle();
  });
  if (!whole) throw Error(Fault::broken, "the chase's pointers do not form one cycle");
}

std::optional<Mismatch> HostPointerChaseTransfer::verify(std::uint64_t /*seed*/) const {
  const std::uint64_t hops = done() * hops_;
  if (at_ != address(hops))
    return Mismatch{"after " + std::to_string(hops) + " hops the chase is not where its order says"};
  for (std::uint64_t step = 0; step < order_.size(); ++step) {
    if (follow(address(step)) == address(step + 1)) continue;
    return Mismatch{"the pointer at byte " + std::to_string(order_.offset(step)) + " of " +
                    std::to_string(shape_.span) + " is damaged"};
  }
  return std::nullopt;
}

std::vector<std::string> HostPointerChaseTransfer::notes() const {
  if (const std::string found = span_.residence(); !found.empty()) return {"source: " + found};
  return {};
}

}  // namespace

std::map<std::string, std::string> HostPointerChase::parameters() const {
  return {
      {"stride", "bytes between nodes, a multiple of 8; default 256"},
      {"locality", "bytes visited completely, in random order, before moving on; default 262144 (64 pages)"},
      {"hops", "dependent loads in one transfer; default 16384"}};
}

Support HostPointerChase::supports(const Flow& flow) const {
  if (!flow.source || flow.destination)
    return Support::no("pointer-chase reads a source and has no destination");
  if (const Support reached = context_->reachable(*flow.source); !reached) return reached;
  if (const Support executor = context_->can_execute(flow.executor); !executor) return executor;
  const std::int64_t stride = flow.parameters.number("stride", default_stride);
  if (stride < 8 || stride % 8 != 0) return Support::no("stride must be a positive multiple of 8");
  if (flow.parameters.number("locality", default_locality) < 1)
    return Support::no("locality must be positive");
  if (flow.parameters.number("hops", default_hops) < 1) return Support::no("hops must be positive");
  const std::uint64_t nodes = shape_of(flow).nodes();
  if (nodes < 2)
    return Support::no(std::to_string(flow.bytes) + " B hold fewer than two nodes at this stride");
  if (nodes > std::numeric_limits<std::uint32_t>::max())
    return Support::no("more than 2^32 nodes: use a larger stride");
  return Support::yes();
}

std::unique_ptr<Transfer> HostPointerChase::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<HostPointerChaseTransfer>(flow, *arenas.source,
                                                    context_->workers(flow.executor.index));
}

}  // namespace linkscope::host
