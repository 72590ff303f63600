#include "backend/gpu/region/kernel_strided.hpp"

#include "backend/gpu/context.hpp"
#include "backend/gpu/region/region_kernels.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::int64_t most_blocks = 1 << 20;
constexpr std::int64_t threads_unit = 128;  // what the kernel's division of a row divides

unsigned bounded(const Parameters& parameters, const std::string& name, std::int64_t otherwise,
                 std::int64_t unit, std::int64_t most) {
  const std::int64_t number = parameters.number(name, otherwise);
  if (number < unit || number > most || number % unit != 0) {
    throw Error(Fault::bad_input, "parameter " + name + ": a multiple of " + std::to_string(unit) +
                                      " up to " + std::to_string(most));
  }
  return static_cast<unsigned>(number);
}

}  // namespace

std::vector<RegionGrid> region_grids(const GpuProperties& device, const Parameters& parameters) {
  const auto processors = static_cast<unsigned>(device.multiprocessors);
  const RegionGrid first{4 * processors, 512};
  if (parameters.all().contains("blocks") || parameters.all().contains("threads")) {
    return {{bounded(parameters, "blocks", first.blocks, 1, most_blocks),
             bounded(parameters, "threads", first.threads, threads_unit, std::int64_t{most_region_threads})}};
  }
  return {
      first, {2 * processors, 512}, {2 * processors, 1024}, {8 * processors, 256}, {16 * processors, 128}};
}

std::map<std::string, std::string> grid_parameters() {
  return {{"blocks", "blocks of the grid; default: tuned"},
          {"threads", "threads per block, a multiple of 128; default: tuned"}};
}

KernelRegionTransfer::KernelRegionTransfer(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                           const Arenas& arenas, const Region& region)
    : RegionTransfer(context, flow, arenas, region),
      source_(context->reach(device(), *arenas.source)),
      destination_(context->reach(device(), *arenas.destination)) {
  const auto grids = region_grids(context->device(flow.executor.index), flow.parameters);
  grid_ = grids.front();
  own_facts().offer(grids);
  sweep_.source = source_.address;
  sweep_.destination = destination_.address;
  sweep_.stride = arenas.rotation.stride;
  sweep_.slots = arenas.rotation.slots;
  context->load(device(), region_copy_kernels());
}

void KernelRegionTransfer::use(const Setting& setting) {
  Parameters parameters;
  for (const auto& [name, value] : setting) parameters.set(name, std::to_string(value));
  grid_ = region_grids(context().device(device()), parameters).front();
}

void KernelRegionTransfer::run(gpuStream_t stream, std::uint64_t first, std::uint64_t repeats) {
  Sweep sweep = sweep_;
  sweep.first = first;
  sweep.repeats = repeats;
  launch_region_copy(stream, sweep, region(), region(), grid_.blocks, grid_.threads);
}

std::map<std::string, std::string> KernelStrided::own_parameters() const {
  auto all = RegionMethod::own_parameters();
  all.merge(grid_parameters());
  return all;
}

Support KernelStrided::supports(const Flow& flow) const {
  static_cast<void>(region(flow));
  return kernels_reach(flow, Ends::both);
}

std::unique_ptr<Transfer> KernelStrided::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<KernelRegionTransfer>(shared_context(), flow, arenas, region(flow));
}

}  // namespace linkscope::gpu
