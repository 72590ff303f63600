// Who drives, who lends, and how the one comes to the other's memory.
#include "backend/gpu/ipc/method.hpp"

#include <optional>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/copy/copy_engine.hpp"
#include "backend/gpu/ipc/mapping.hpp"
#include "backend/gpu/kernel/copy.hpp"
#include "backend/gpu/kernel/grid.hpp"
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

/// The end whose process only arms and checks it: its lane starts with the others and has nothing to do.
class IdleEnd final : public host::HostTransfer {
 public:
  IdleEnd(int node, Bytes bytes, const Arenas& arenas)
      : HostTransfer(node, 1), check_(arenas.source, arenas.destination, bytes, arenas.rotation) {}

  void perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t /*repeats*/) noexcept override {}
  void arm(std::uint64_t seed) override {
    check_.arm(seed);
    restart();
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    return check_.verify(seed, done());
  }
  [[nodiscard]] Bytes verified_bytes() const override { return check_.verified_bytes(done()); }
  void flush() override { check_.flush(); }

 private:
  CopyCheck check_;
};

/// The other process: lends its memory.
class ExportedMemory final : public PreparedParts {
 public:
  ExportedMemory(GpuContext& context, const Flow& flow, const Arenas& arenas)
      : exported_(IpcExport::of(context, arenas.source != nullptr ? *arenas.source : *arenas.destination,
                                arenas.rotation)),
        end_(calling_node(context, far_end(flow).device.index), flow.bytes, arenas) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const override { return {&end_}; }
  [[nodiscard]] std::string export_handles() override { return exported_.text(); }

 private:
  IpcExport exported_;
  mutable IdleEnd end_;
};

/// The driving process: maps the other's memory and copies.
class ImportedCopy final : public PreparedParts {
 public:
  ImportedCopy(std::shared_ptr<GpuContext> context, std::shared_ptr<const ClassMethod> work,
               std::shared_ptr<IpcMappings> mappings, Flow flow, const Arenas& arenas)
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
    if (const Support possible = work_->supports(local); !possible)
      throw Error(Fault::unsupported, possible.reason());
    transfer_ = work_->prepare(local, arenas_);
  }

 private:
  std::shared_ptr<GpuContext> context_;
  std::shared_ptr<const ClassMethod> work_;
  std::shared_ptr<IpcMappings> mappings_;
  Flow flow_;
  Arenas arenas_;
  std::unique_ptr<ForeignBuffer> far_;
  std::unique_ptr<Transfer> transfer_;
};

std::vector<std::string> kernel_parameters() {
  std::vector<std::string> names{"graph"};
  for (const GridNumber& one : sweep_numbers) names.emplace_back(one.name);
  return names;
}

}  // namespace

IpcMethod::IpcMethod(const MethodSpec& spec, std::shared_ptr<GpuContext> context,
                     std::shared_ptr<const ClassMethod> work, std::vector<std::string> own_parameters)
    : MultiPartMethod(spec),
      context_(std::move(context)),
      work_(std::move(work)),
      own_parameters_(std::move(own_parameters)),
      mappings_(std::make_shared<IpcMappings>(context_)) {}

std::map<std::string, std::string> IpcMethod::parameters() const {
  const auto all = work_->parameters();
  std::map<std::string, std::string> own;
  for (const std::string& name : own_parameters_) own.insert(*all.find(name));
  return own;
}

Support IpcMethod::available() const { return work_->available(); }

Support IpcMethod::supports(const Flow& flow) const {
  const std::string method(name());
  if (!flow.source || !flow.destination) return Support::no(method + " needs a source and a destination");
  if (flow.bytes == 0) return Support::no(method + " copies one byte or more: it has no empty messages");
  if (flow.executor.kind != DeviceKind::gpu) return Support::no(flow.executor.text() + " is not a GPU");
  if (flow.source->rank == flow.destination->rank) {
    return Support::no("both ends belong to rank " + std::to_string(flow.source->rank) + ": " +
                       std::string(work_->name()) + " copies within one process");
  }
  if (flow.rank != flow.source->rank && flow.rank != flow.destination->rank)
    return Support::no("rank " + std::to_string(flow.rank) + " holds neither end: it must hold one");
  return has_ipc_handle(far_end(flow));
}

std::vector<FlowPart> IpcMethod::parts(const Flow& flow) const {
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

std::unique_ptr<PreparedParts> IpcMethod::assemble(const Flow& flow,
                                                   const std::vector<LocalPart>& own) const {
  if (own.empty()) return std::make_unique<NoParts>();
  const Arenas& arenas = own.front().arenas;
  if (own.front().index > 0) return std::make_unique<ExportedMemory>(*context_, flow, arenas);
  return std::make_unique<ImportedCopy>(context_, work_, mappings_, flow, arenas);
}

Bytes IpcMethod::rotation_bytes(const Flow& flow) const { return work_->rotation_bytes(flow); }

IpcCopy::IpcCopy(const std::shared_ptr<GpuContext>& context)
    : IpcMethod({"ipc-copy",
                 "copies by the DMA engines to or from another process's memory, mapped by an IPC handle",
                 Quantity::bandwidth, ipc_copy_traits},
                context, std::make_shared<CopyEngine>(context), {"call", "graph"}) {}

IpcKernel::IpcKernel(const std::shared_ptr<GpuContext>& context)
    : IpcMethod(
          {"ipc-kernel", "copies by a kernel to or from another process's memory, mapped by an IPC handle",
           Quantity::bandwidth, ipc_kernel_traits},
          context, std::make_shared<KernelCopy>(context), kernel_parameters()) {}

}  // namespace linkscope::gpu
