// Laying rings through migrating pages.
#include "backend/gpu/migration/fault_ring.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::int64_t default_stride = MiB;

}  // namespace

RingShape ring_shape_of(const Flow& flow) {
  const std::int64_t stride = flow.parameters.number("stride", default_stride);
  const std::string order = flow.parameters.word("order", "sequential");
  if (stride < 8 || stride % 8 != 0) throw Error(Fault::bad_input, "parameter stride: a multiple of 8 bytes");
  if (order != "sequential" && order != "random")
    throw Error(Fault::bad_input, "parameter order: '" + order + "' is neither sequential nor random");
  const std::uint64_t nodes = flow.bytes / static_cast<Bytes>(stride);
  if (nodes < 2) {
    throw Error(Fault::unsupported,
                "a fault chase needs two strides of memory at least: " + format_bytes(flow.bytes) +
                    " hold fewer of " + format_bytes(static_cast<Bytes>(stride)));
  }
  return {static_cast<Bytes>(stride), nodes, order == "random"};
}

FaultRing::FaultRing(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
    : shape_(ring_shape_of(flow)),
      slots_(std::move(context), *arenas.source, flow.bytes, arenas.rotation, flow.executor) {}

void FaultRing::arm(std::uint64_t seed) {
  slots_.fill(seed);
  order_ = shape_.scattered ? RingOrder::random(shape_.nodes, seed) : RingOrder::sequential(shape_.nodes);
  for (std::uint64_t slot = 0; slot < slots_.count(); ++slot) {
    for (std::uint64_t step = 0; step < shape_.nodes; ++step) {
      const std::byte* const next = slots_.at(slot) + order_.place(step + 1) * shape_.stride;
      std::memcpy(slots_.at(slot) + order_.place(step) * shape_.stride, &next, sizeof next);
    }
  }
}

std::optional<Mismatch> FaultRing::verify(std::uint64_t done, std::uint64_t right) const {
  if (right == done) return std::nullopt;
  return Mismatch{std::to_string(done - right) + " of " + std::to_string(done) + " walks of " +
                  std::to_string(shape_.nodes) + " hops did not end where the ring says"};
}

}  // namespace linkscope::gpu
