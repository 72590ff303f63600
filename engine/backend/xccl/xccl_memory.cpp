// xccl: what NCCL's or RCCL's own allocator gives.
#include <string>
#include <utility>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/xccl/context.hpp"
#include "base/error.hpp"

namespace linkscope::xccl {
namespace {

constexpr Bytes rounding = 2 * MiB;  // of the driver's mapped memory

/// Memory of one GPU from ncclMemAlloc. Calls recorded into graphs may work on it in place, where they would go through
/// buffers of the library's on other memory. The library maps it for every peer of its GPU, whatever their peer access.
class XcclMemory final : public gpu::GpuMemory {
 public:
  explicit XcclMemory(std::shared_ptr<XcclContext> context)
      : GpuMemory(context->gpus(),
                  {"xccl",
                   "a GPU's memory from NCCL's or RCCL's own allocator (ncclMemAlloc), which "
                   "the library may use in place",
                   xccl_memory_traits}),
        xccl_(std::move(context)) {}

  [[nodiscard]] Support available() const override {
    const Support has_gpu = GpuMemory::available();
    return has_gpu ? xccl_->library().allocates() : has_gpu;
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    const Support has_it = available();
    return has_it ? lies_on_gpu(where) : has_it;
  }
  /// Not where peers are to be kept out.
  [[nodiscard]] Support allows(const Flow& flow) const override {
    if (!gpu::between_gpus(flow) ||
        flow.parameters.choice<gpu::PeerAccess>(gpu::peer_access) == gpu::PeerAccess::on)
      return Support::yes();
    return Support::no("peer_access cannot be off: the library maps xccl memory for every peer itself");
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    const int device = where.device.index;
    context().use(device);
    context().spare_managed(device, bytes);
    const XcclLibrary& library = xccl_->library();
    void* memory = nullptr;
    const Result result = library.api().mem_alloc(&memory, bytes);
    // The library has one answer to every refusal of the driver's.
    if (result != Result::success && context().free_memory(device) < bytes + rounding) {
      throw Error(Fault::no_memory, "ncclMemAlloc: " + format_bytes(bytes) +
                                        " do not fit: " + where.device.text() + " has " +
                                        format_bytes(context().free_memory(device)) + " free");
    }
    library.check(result, "ncclMemAlloc");
    const auto give_back = [device, free = library.api().mem_free](std::byte* address) {
      static_cast<void>(gpuSetDevice(device));
      static_cast<void>(free(address));
    };
    return device_buffer(where, bytes, static_cast<std::byte*>(memory), give_back);
  }

 private:
  std::shared_ptr<XcclContext> xccl_;
};

}  // namespace

std::unique_ptr<gpu::GpuMemory> xccl_memory(std::shared_ptr<XcclContext> context) {
  return std::make_unique<XcclMemory>(std::move(context));
}

}  // namespace linkscope::xccl
