#include "backend/gpu/kernel/copy.hpp"

#include "backend/gpu/kernel/sweep_kernels.hpp"

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

}  // namespace

std::unique_ptr<Transfer> KernelCopy::make_dense(const Flow& flow, const Arenas& arenas) const {
  SweepWork work = dense_work(shared_context(), flow, arenas);
  work.kernels = all_kernels<CopyKernels>();
  work.launch = [](const SweepLaunch& at) {
    kernel_for<CopyKernels>(at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(at.sweep);
  };
  if (is_local(flow)) work.touched_bytes = 2 * flow.bytes;
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace linkscope::gpu
