#include "backend/gpu/kernel/copy.hpp"

#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

template <unsigned unroll, Access access>
__global__ void __launch_bounds__(most_threads(unroll)) copy_kernel(Sweep sweep) {
  for_each_repeat(sweep, [&](Bytes slot) {
    const std::byte* source = sweep.source + slot;
    std::byte* destination = sweep.destination + slot;
    copy_vectors<unroll, access>(sweep.order, reinterpret_cast<Vector*>(destination),
                                 reinterpret_cast<const Vector*>(source), sweep.vectors);
    for_each_tail_byte(sweep, [&](Bytes offset) { destination[offset] = source[offset]; });
  });
}

struct CopyKernels {
  template <unsigned unroll, Access access>
  static auto get() {
    return &copy_kernel<unroll, access>;
  }
};

class KernelCopyTransfer final : public KernelTransfer {
 public:
  KernelCopyTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : KernelTransfer(std::move(context), flow, arenas) {
    if (is_local(flow)) own_facts().touched_bytes = 2 * flow.bytes;
    this->context().load(device(), all_kernels<CopyKernels>());
  }

 protected:
  void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) override {
    kernel_for<CopyKernels>(shape)<<<grid_of(sweep, shape), shape.threads, 0, stream>>>(sweep);
    LINKSCOPE_CHECK(gpuGetLastError());
  }
};

}  // namespace

std::unique_ptr<Transfer> KernelCopy::make_dense(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<KernelCopyTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
