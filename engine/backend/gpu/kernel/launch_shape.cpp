// Which launch shapes are tried.
#include "backend/gpu/kernel/launch_shape.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned most_blocks = 1U << 20U;

void check_shape(const LaunchShape& shape) {
  const bool unroll_known = shape.unroll == 1 || shape.unroll == 4 || shape.unroll == 8 || shape.unroll == 12;
  if (!unroll_known) throw Error(Fault::bad_input, "parameter unroll: 1, 4, 8 or 12");
  if (shape.threads < 128 || shape.threads > most_threads(shape.unroll) || shape.threads % 128 != 0) {
    throw Error(Fault::bad_input, "parameter threads: a multiple of 128 up to " +
                                      std::to_string(most_threads(shape.unroll)) + " with unroll " +
                                      std::to_string(shape.unroll));
  }
  if (shape.blocks > most_blocks) throw Error(Fault::bad_input, "parameter blocks: 0 to 1048576");
}

bool is_fixed(const Parameters& parameters) {
  const auto& all = parameters.all();
  return all.contains("blocks") || all.contains("threads") || all.contains("unroll") ||
         all.contains("streaming");
}

LaunchShape fixed_shape(const LaunchShape& base, const Parameters& parameters) {
  const auto number = [&parameters](const char* name, unsigned otherwise) {
    return static_cast<unsigned>(
        std::clamp<std::int64_t>(parameters.number(name, otherwise), 0, most_blocks + 1));
  };
  LaunchShape shape{number("blocks", base.blocks), number("threads", base.threads),
                    number("unroll", base.unroll),
                    number("streaming", 0) == 0 ? Access::cached : Access::streaming};
  check_shape(shape);
  return shape;
}

}  // namespace

Setting LaunchShape::setting() const {
  return {{"blocks", blocks},
          {"threads", threads},
          {"unroll", unroll},
          {"streaming", access == Access::streaming}};
}

LaunchShape LaunchShape::from(const Setting& setting) {
  Parameters parameters;
  for (const auto& [name, value] : setting) parameters.set(name, std::to_string(value));
  return fixed_shape({}, parameters);
}

std::vector<LaunchShape> shapes_for(const GpuProperties& device, std::uint64_t useful_threads,
                                    const Parameters& parameters) {
  const auto processors = static_cast<unsigned>(device.multiprocessors);
  const LaunchShape first{processors, 512, 12, Access::cached};
  if (is_fixed(parameters)) return {fixed_shape(first, parameters)};
  const std::vector<LaunchShape> wanted = {
      first,
      {2 * processors, 1024, 4, Access::cached},
      {2 * processors, 512, 8, Access::cached},
      {4 * processors, 512, 4, Access::cached},
      {processors, 1024, 8, Access::cached},
      {2 * processors, 512, 8, Access::streaming},
      {std::max(processors / 2, 1U), 512, 12, Access::cached},
      {one_tile_each, 512, 4, Access::cached},
      {one_tile_each, 256, 8, Access::cached},
  };
  std::vector<LaunchShape> shapes;
  for (LaunchShape shape : wanted) {
    if (shape.blocks == one_tile_each) {
      const bool fills = with_a_block_per_tile(shape, useful_threads).blocks >= processors;
      if (fills) shapes.push_back(shape);
      continue;
    }
    const std::uint64_t useful = (useful_threads + shape.threads - 1) / shape.threads;
    if (useful < shape.blocks) shape.unroll = 1;  // each thread has one vector at most
    shape.blocks = static_cast<unsigned>(std::min<std::uint64_t>(shape.blocks, useful));
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

LaunchShape with_a_block_per_tile(LaunchShape shape, std::uint64_t useful_threads) {
  constexpr std::uint64_t most_tiles =
      std::numeric_limits<std::int32_t>::max();  // of a grid's first dimension
  const std::uint64_t tile = static_cast<std::uint64_t>(shape.threads) * shape.unroll;
  shape.blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>((useful_threads + tile - 1) / tile, 1, most_tiles));
  return shape;
}

std::map<std::string, std::string> shape_parameters() {
  return {
      {"blocks", "blocks of the grid; 0: one for every tile of threads times unroll vectors; default: tuned"},
      {"threads", "threads per block, a multiple of 128; default: tuned"},
      {"unroll", "16-byte loads in flight per thread: 1, 4, 8 or 12; default: tuned"},
      {"streaming", "1: loads and stores that ask caches not to keep the lines; default: tuned"}};
}

}  // namespace linkscope::gpu
