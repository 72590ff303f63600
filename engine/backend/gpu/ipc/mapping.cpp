// Handles given away, and handles mapped.
#include "backend/gpu/ipc/mapping.hpp"

#include <optional>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "base/pack.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::gpu {
namespace {

std::optional<int> device_at(const GpuContext& context, const std::string& pci) {
  for (int index = 0; index < context.device_count(); ++index) {
    if (context.device(index).pci == pci) return index;
  }
  return std::nullopt;
}

}  // namespace

Support has_ipc_handle(const Endpoint& where) {
  if (where.traits.plain_allocation && where.device.kind == DeviceKind::gpu) return Support::yes();
  return Support::no(where.memory + " memory of " + where.device.text() +
                     " has no IPC handle by which another process could map it");
}

IpcExport IpcExport::of(GpuContext& context, const Buffer& buffer, const Rotation& rotation) {
  const int device = buffer.where().device.index;
  IpcExport exported;
  refusal_is_no_support("the driver does not share " + buffer.where().device.text() + "'s memory", [&] {
    context.use(device);
    void* base = nullptr;
    std::size_t bytes = 0;
    LINKSCOPE_CHECK(vendor::allocation_of(buffer.data(), &base, &bytes));
    LINKSCOPE_CHECK(gpuIpcGetMemHandle(&exported.handle_, base));
    exported.offset_ =
        reinterpret_cast<std::uintptr_t>(buffer.data()) - reinterpret_cast<std::uintptr_t>(base);
  });
  exported.bytes_ = buffer.bytes();
  exported.rotation_ = rotation;
  exported.pci_ = context.device(device).pci;
  exported.boot_ = boot_id();
  return exported;
}

std::string IpcExport::text() const {
  return Pack().put(handle_).put(offset_).put(bytes_).put(rotation_).text(pci_).text(boot_).bytes();
}

IpcExport IpcExport::read(const std::string& text) {
  Unpack unpack(text, "a process offered no memory");
  IpcExport exported;
  exported.handle_ = unpack.get<gpuIpcMemHandle_t>();
  exported.offset_ = unpack.get<Bytes>();
  exported.bytes_ = unpack.get<Bytes>();
  exported.rotation_ = unpack.get<Rotation>();
  exported.pci_ = unpack.text();
  exported.boot_ = unpack.text();
  unpack.end();
  return exported;
}

Support IpcExport::usable(const GpuContext& context, const Rotation& rotation) const {
  if (boot_id() != boot_)
    return Support::no("the two processes are on different nodes: an IPC handle is valid only on its own");
  if (rotation_.stride != rotation.stride || rotation_.slots != rotation.slots) {
    return Support::no("the two processes lay their memory out differently (" +
                       std::to_string(rotation_.slots) + " and " + std::to_string(rotation.slots) +
                       " slots): do both see the same GPUs?");
  }
  if (device_at(context, pci_)) return Support::yes();
  return Support::no("the other process's GPU, " + pci_ +
                     ", is not visible to this one: let every process see all GPUs");
}

DeviceId IpcExport::device(const GpuContext& context) const {
  return {DeviceKind::gpu, device_at(context, pci_).value()};
}

/// One allocation, mapped.
class IpcMappings::Mapping {
 public:
  Mapping(GpuContext& context, int device, int owner, const gpuIpcMemHandle_t& handle)
      : device_(device), peer_(context.peers().hold(device, owner, PeerAccess::on)) {
    context.use(device_);
    LINKSCOPE_CHECK(gpuIpcOpenMemHandle(&base_, handle, gpuIpcMemLazyEnablePeerAccess));
  }
  ~Mapping() {
    static_cast<void>(gpuSetDevice(device_));
    static_cast<void>(gpuIpcCloseMemHandle(base_));
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(base_); }

 private:
  int device_;
  PeerHold peer_;
  void* base_ = nullptr;
};

IpcMappings::IpcMappings(std::shared_ptr<GpuContext> context) : context_(std::move(context)) {}
IpcMappings::~IpcMappings() = default;

std::unique_ptr<ForeignBuffer> IpcMappings::open(int device, const IpcExport& exported, int rank) {
  const DeviceId owner = exported.device(*context_);
  if (const Support reached = context_->peers().possible(device, owner.index); !reached)
    throw Error(Fault::unsupported, reached.reason());
  std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
  const std::string handle(reinterpret_cast<const char*>(&exported.handle_), sizeof exported.handle_);
  std::weak_ptr<const Mapping>& known = open_[{device, handle}];
  std::shared_ptr<const Mapping> mapping = known.lock();
  if (mapping == nullptr) {
    refusal_is_no_support("the driver does not map memory of rank " + std::to_string(rank), [&] {
      mapping = std::make_shared<const Mapping>(*context_, device, owner.index, exported.handle_);
    });
    known = mapping;
  }
  std::byte* const address = mapping->base() + exported.offset_;
  Endpoint where{owner, "device", Placement::bound, owner, {}, rank, device_traits};
  return std::make_unique<ForeignBuffer>(std::move(where), exported.bytes_, address, std::move(mapping));
}

}  // namespace linkscope::gpu
