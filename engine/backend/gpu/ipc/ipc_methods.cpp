// ipc-copy and ipc-kernel: who drives, who lends, and how the one comes to the other's memory.
#include <algorithm>
#include <optional>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/ipc/mapping.hpp"
#include "backend/gpu/kernel/grid.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/host/host_transfer.hpp"
#include "base/error.hpp"
#include "model/copy_check.hpp"

namespace linkscope::gpu {
namespace {

enum class Direction { push, pull };

Direction direction_of(const Flow& flow) {
  return flow.rank == flow.source->rank ? Direction::push : Direction::pull;
}

/// The end that the driving process maps.
const Endpoint& far_end(const Flow& flow) {
  return direction_of(flow) == Direction::push ? *flow.destination : *flow.source;
}

/// The end whose process only arms and checks it. Its lane starts with the others and has nothing to do.
class IdleEnd final : public host::HostTransfer {
 public:
  IdleEnd(int node, Bytes bytes, const Arenas& arenas) : HostTransfer(node, 1) {
    set_check(std::make_unique<CopyCheck>(arenas.source, arenas.destination, bytes, arenas.rotation));
  }

  void perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t /*repeats*/) noexcept override {}
};

/// The other process's part: it lends its memory.
std::unique_ptr<PreparedParts> lend(GpuContext& context, const Flow& flow, const Arenas& arenas) {
  const Buffer& lent = arenas.source != nullptr ? *arenas.source : *arenas.destination;
  const std::string handle = IpcExport::of(context, lent, arenas.rotation).text();
  const int node = calling_node(context, far_end(flow).device.index);
  return std::make_unique<SinglePart>(std::make_unique<IdleEnd>(node, flow.bytes, arenas),
                                      [handle]() -> const std::string& { return handle; });
}

/// The driving process: maps the other's memory and copies.
class ImportedCopy final : public PreparedParts {
 public:
  ImportedCopy(std::shared_ptr<GpuContext> context, Method work, std::shared_ptr<IpcMappings> mappings,
               Flow flow, const Arenas& arenas)
      : context_(std::move(context)),
        work_(std::move(work)),
        mappings_(std::move(mappings)),
        flow_(std::move(flow)),
        arenas_(arenas) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const override { return {transfer_.get()}; }

  void import_handles(const std::vector<std::string>& exports) override {
    const int rank = far_end(flow_).rank;
    const IpcExport exported = IpcExport::read(exports.at(static_cast<std::size_t>(rank)));
    if (const Support usable = exported.usable(*context_, arenas_.rotation); !usable)
      throw Error(Fault::unsupported, usable.reason());
    far_ = mappings_->open(flow_.executor.index, exported, rank);
    const bool pushing = direction_of(flow_) == Direction::push;
    Flow local = flow_;
    (pushing ? local.destination : local.source) = far_->where();
    (pushing ? arenas_.destination : arenas_.source) = far_.get();
    if (const Support possible = work_.supports(local); !possible)
      throw Error(Fault::unsupported, possible.reason());
    transfer_ = work_.prepare(local, arenas_);
  }

 private:
  std::shared_ptr<GpuContext> context_;
  Method work_;
  std::shared_ptr<IpcMappings> mappings_;
  Flow flow_;
  Arenas arenas_;
  std::unique_ptr<ForeignBuffer> far_;
  std::unique_ptr<Transfer> transfer_;
};

/// The answer is the same in every process. What depends on the GPUs that a process sees is decided when the parts meet.
Support has_one_end_each(const Method& work, const Flow& flow) {
  if (!flow.source || !flow.destination)
    return Support::no(flow.method + " needs a source and a destination");
  if (flow.bytes == 0) return Support::no(flow.method + " copies one byte or more: it has no empty messages");
  if (flow.executor.kind != DeviceKind::gpu) return Support::no(flow.executor.text() + " is not a GPU");
  if (flow.source->rank == flow.destination->rank) {
    return Support::no("both ends belong to rank " + std::to_string(flow.source->rank) + ": " +
                       std::string(work.name()) + " copies within one process");
  }
  if (flow.rank != flow.source->rank && flow.rank != flow.destination->rank)
    return Support::no("rank " + std::to_string(flow.rank) + " holds neither end: it must hold one");
  return has_ipc_handle(far_end(flow));
}

/// The driving process's part, timed, and the other one's, untimed.
std::vector<FlowPart> drive_and_lend(const Flow& flow) {
  const Endpoint& far = far_end(flow);
  FlowPart drives{flow.rank, flow.executor, flow.source, flow.destination, Timing::timed};
  FlowPart lends{far.rank, far.device, std::nullopt, std::nullopt, Timing::untimed};
  if (direction_of(flow) == Direction::push) {
    lends.destination = std::exchange(drives.destination, std::nullopt);
  } else {
    lends.source = std::exchange(drives.source, std::nullopt);
  }
  return {drives, lends};
}

/// The row of `work`, a method of one process, whose far end another process lends. Its parameters `kept` stay.
Method ipc_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec, const Method& work,
               const std::vector<std::string_view>& kept) {
  Method row;
  row.spec = spec;
  for (const Parameter& one : work.parameters) {
    if (std::ranges::find(kept, one.name) != kept.end()) row.parameters.push_back(one);
  }
  row.available = work.available;
  row.supports = [work](const Flow& flow) { return has_one_end_each(work, flow); };
  row.rotation_bytes = work.rotation_bytes;
  row.parts = &drive_and_lend;
  row.assemble = [context, work, mappings = std::make_shared<IpcMappings>(context)](
                     const Flow& flow, const std::vector<LocalPart>& own) -> std::unique_ptr<PreparedParts> {
    if (own.empty()) return std::make_unique<PreparedParts>();
    const Arenas& arenas = own.front().arenas;
    if (own.front().index > 0) return lend(*context, flow, arenas);
    return std::make_unique<ImportedCopy>(context, work, mappings, flow, arenas);
  };
  return row;
}

}  // namespace

Method ipc_copy(const std::shared_ptr<GpuContext>& context) {
  return ipc_row(context,
                 {"ipc-copy",
                  "copies by the DMA engines to or from another process's memory, mapped by an IPC handle",
                  Quantity::bandwidth,
                  {.maps_members = true}},
                 copy_engine(context), {"call", recorded_transfers.name});
}

Method ipc_kernel(const std::shared_ptr<GpuContext>& context) {
  std::vector<std::string_view> kept{recorded_transfers.name};
  for (const GridNumber& one : sweep_numbers) kept.push_back(one.parameter.name);
  return ipc_row(context,
                 {"ipc-kernel",
                  "copies by a kernel to or from another process's memory, mapped by an IPC handle",
                  Quantity::bandwidth,
                  {.maps_members = true, .by_kernel = true}},
                 kernel_copy(context), kept);
}

}  // namespace linkscope::gpu
