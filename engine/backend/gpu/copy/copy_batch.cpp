#include "backend/gpu/copy/copy_batch.hpp"

#include <vector>

#include "backend/gpu/copy/copy_path.hpp"
#include "backend/gpu/region/kernel_strided.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::int64_t default_count = 64;
constexpr std::int64_t most_buffers = 65536;
constexpr Bytes apart = 512;  // at least that much is between two buffers, whose starts are multiples of it

enum class BatchApi { batch, loop, kernel };

BatchApi wanted_api(const Flow& flow) {
  const std::string word = flow.parameters.word("api", "batch");
  if (word == "batch") return BatchApi::batch;
  if (word == "loop") return BatchApi::loop;
  if (word == "kernel") return BatchApi::kernel;
  throw Error(Fault::bad_input, "parameter api: '" + word + "' is none of batch, loop, kernel");
}

Bytes wanted_count(const Flow& flow) {
  const std::int64_t count = flow.parameters.number("count", default_count);
  if (count < 1 || count > most_buffers) {
    throw Error(Fault::bad_input, "parameter count: 1 to " + std::to_string(most_buffers));
  }
  return static_cast<Bytes>(count);
}

/// One asynchronous copy for each buffer.
class LoopTransfer final : public DriverRegionTransfer {
 public:
  LoopTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
               const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, region.rows) {
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for_each_slot(first, repeats, [&](Bytes slot) {
      for (std::uint64_t row = 0; row < region().rows; ++row) {
        const Bytes at = slot + region().row_offset(row);
        LINKSCOPE_CHECK(gpuMemcpyAsync(arenas().destination->data() + at, arenas().source->data() + at,
                                       region().width, gpuMemcpyDefault, stream));
      }
    });
  }
};

/// One call for all. What it puts into the stream is the driver's business: counted as a command for each buffer.
class BatchTransfer final : public DriverRegionTransfer {
 public:
  BatchTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas,
                const Region& region)
      : DriverRegionTransfer(context, flow, arenas, region, region.rows),
        sources_(region.rows),
        destinations_(region.rows),
        sizes_(region.rows, region.width) {
    run_once();
  }

 private:
  void run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) override {
    for_each_slot(first, repeats, [&](Bytes slot) {
      for (std::uint64_t row = 0; row < region().rows; ++row) {
        const Bytes at = slot + region().row_offset(row);
        sources_[row] = arenas().source->data() + at;
        destinations_[row] = arenas().destination->data() + at;
      }
      LINKSCOPE_CHECK(
          vendor::copy_batch(destinations_.data(), sources_.data(), sizes_.data(), sizes_.size(), stream));
    });
  }

  std::vector<void*> sources_;
  std::vector<void*> destinations_;
  std::vector<std::size_t> sizes_;
};

}  // namespace

std::map<std::string, std::string> CopyBatch::own_parameters() const {
  auto all = copy_path_parameters();
  all.merge(grid_parameters());
  all.emplace("count", "buffers per call; default " + std::to_string(default_count));
  all.emplace(
      "api",
      "batch (default): one call for all; loop: an asynchronous copy each; kernel: one kernel for all");
  return all;
}

Region CopyBatch::region(const Flow& flow) const {
  const Bytes count = wanted_count(flow);
  const Bytes each = flow.bytes / count;
  const Bytes pitch = (each + apart - 1) / apart * apart + apart;
  return {each, count, 1, pitch, pitch * count};
}

Support CopyBatch::supports(const Flow& flow) const {
  const Bytes count = wanted_count(flow);
  if (flow.bytes == 0 || flow.bytes % count != 0) {
    return Support::no(std::to_string(flow.bytes) + " bytes are not " + std::to_string(count) +
                       " buffers of one size");
  }
  const BatchApi api = wanted_api(flow);
  if (api == BatchApi::kernel) return kernels_reach(flow, Ends::both);
  if (const Support complete = has_ends(flow, Ends::both); !complete) return complete;
  if (api == BatchApi::batch) {
    if (const std::string missing = vendor::no_batch(); !missing.empty()) return Support::no(missing);
  }
  return has_copy_path(context(), flow);
}

std::unique_ptr<Transfer> CopyBatch::make(const Flow& flow, const Arenas& arenas) const {
  const auto& context = shared_context();
  switch (wanted_api(flow)) {
    case BatchApi::batch:
      return std::make_unique<BatchTransfer>(context, flow, arenas, region(flow));
    case BatchApi::loop:
      return std::make_unique<LoopTransfer>(context, flow, arenas, region(flow));
    default:
      return std::make_unique<KernelRegionTransfer>(context, flow, arenas, region(flow));
  }
}

}  // namespace linkscope::gpu
