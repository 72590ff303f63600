// fault-chase by a CPU thread, and what either executor must have.
#include "backend/gpu/migration/fault_chase.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/migration/fault_ring.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"

namespace linkscope::gpu {
namespace {

class HostChaseTransfer final : public host::HostTransfer {
 public:
  HostChaseTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : HostTransfer(flow.executor.index, 1), ring_(std::move(context), flow, arenas) {
    own_facts().operations = ring_.shape().nodes;
    own_facts().max_repeats = ring_.slots().count();
  }

  void perform(unsigned /*part*/, std::uint64_t first, std::uint64_t repeats) noexcept override {
    for (std::uint64_t turn = first; turn < first + repeats; ++turn) {
      const std::byte* at = ring_.start(turn);
      for (std::uint64_t hop = 0; hop < ring_.shape().nodes; ++hop)
        at = *reinterpret_cast<const std::byte* const volatile*>(at);
      if (at == ring_.start(turn)) ++right_;
    }
  }

  void arm(std::uint64_t seed) override {
    restart();
    right_ = 0;
    ring_.arm(seed);
  }
  void restore() override { ring_.slots().bring_home(done()); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t /*seed*/) const override {
    return ring_.verify(done(), right_);
  }
  [[nodiscard]] Bytes verified_bytes() const override { return ring_.verified_bytes(done()); }
  void flush() override { ring_.slots().flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return ring_.slots().notes(); }

 private:
  FaultRing ring_;
  std::uint64_t right_ = 0;
};

}  // namespace

std::map<std::string, std::string> FaultChase::own_parameters() const {
  return {{"stride", "bytes from pointer to pointer; default 1048576"},
          {"order", "sequential (default) or random"}};
}

Support FaultChase::supports(const Flow& flow) const {
  if (!flow.source || flow.destination)
    return Support::no("fault-chase takes a source only: pages come to the executor");
  static_cast<void>(ring_shape_of(flow));
  if (const Support moves = can_migrate(context(), *flow.source, flow.executor); !moves) return moves;
  if (flow.executor.kind == DeviceKind::gpu) return Support::yes();
  return context().host().can_execute(flow.executor);
}

Bytes FaultChase::footprint(const Flow& flow) const { return migration_footprint(flow); }

Bytes FaultChase::rotation_bytes(const Flow& flow) const { return migration_rotation(flow); }

std::unique_ptr<Transfer> FaultChase::make(const Flow& flow, const Arenas& arenas) const {
  if (flow.executor.kind == DeviceKind::gpu) return chase_by_kernel(shared_context(), flow, arenas);
  return std::make_unique<HostChaseTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
