// Which bulk shapes are tried.
#include "backend/gpu/kernel/bulk_shape.hpp"

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned most_blocks = 1U << 20U;
constexpr unsigned most_threads = 1024;
constexpr unsigned warp_threads = 32;
constexpr unsigned unit = 16;              // bytes that a bulk copy is a multiple of
constexpr unsigned shortest_piece = 1024;  // below that the copy unit's own rate is the bound

bool is_fixed(const Parameters& parameters) {
  const auto known = bulk_parameters();
  return std::any_of(known.begin(), known.end(),
                     [&](const auto& each) { return parameters.all().contains(each.first); });
}

void check_shape(const BulkShape& shape, const BulkLimits& limits) {
  if (shape.blocks < 1 || shape.blocks > most_blocks)
    throw Error(Fault::bad_input, "parameter blocks: 1 to 1048576");
  if (shape.threads < warp_threads || shape.threads > most_threads || shape.threads % warp_threads != 0)
    throw Error(Fault::bad_input, "parameter threads: a multiple of 32 up to 1024");
  if (shape.stages != 2 && shape.stages != 4 && shape.stages != 8 && shape.stages != 16)
    throw Error(Fault::bad_input, "parameter stages: 2, 4, 8 or 16");
  if (shape.stage_bytes < unit || shape.stage_bytes % unit != 0)
    throw Error(Fault::bad_input, "parameter stage_bytes: a multiple of 16");
  if (shape.shared_bytes() > limits.shared_bytes) {
    throw Error(Fault::unsupported,
                "stages of " + std::to_string(shape.stage_bytes) + " B for " + std::to_string(shape.threads) +
                    " threads need " + format_bytes(shape.shared_bytes()) +
                    " of shared memory, a block has " + format_bytes(limits.shared_bytes));
  }
}

BulkShape fixed_shape(const BulkShape& base, const Parameters& parameters) {
  const auto number = [&parameters](const char* name, unsigned otherwise) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(parameters.number(name, otherwise), 0, 1U << 30U));
  };
  return {number("blocks", base.blocks), number("threads", base.threads), number("stages", base.stages),
          number("stage_bytes", base.stage_bytes)};
}

/// With pieces so short, and blocks so few, that every warp has one.
BulkShape fitted(BulkShape shape, Bytes bytes) {
  const auto pieces = [&] { return std::max<Bytes>((bytes + shape.stage_bytes - 1) / shape.stage_bytes, 1); };
  while (pieces() < static_cast<Bytes>(shape.blocks) * shape.warps() && shape.stage_bytes > shortest_piece)
    shape.stage_bytes /= 2;
  const Bytes useful = (pieces() + shape.warps() - 1) / shape.warps();
  shape.blocks = static_cast<unsigned>(std::min<Bytes>(shape.blocks, useful));
  return shape;
}

}  // namespace

Setting BulkShape::setting() const {
  return {{"blocks", blocks}, {"threads", threads}, {"stages", stages}, {"stage_bytes", stage_bytes}};
}

BulkShape BulkShape::from(const Setting& setting) {
  Parameters parameters;
  for (const auto& [name, value] : setting) parameters.set(name, std::to_string(value));
  return fixed_shape({}, parameters);
}

std::vector<BulkShape> bulk_shapes_for(const BulkLimits& limits, Bytes bytes, const Parameters& parameters) {
  const unsigned processors = limits.multiprocessors;
  const auto share = [&](unsigned part) { return std::max(processors / part, 1U); };
  const std::vector<BulkShape> wanted = {
      {processors, 32, 8, 16 * KiB}, {share(2), 32, 8, 16 * KiB},       {share(4), 32, 8, 16 * KiB},
      {share(8), 32, 8, 16 * KiB},   {2 * processors, 32, 4, 16 * KiB}, {processors, 128, 4, 8 * KiB},
      {share(2), 128, 8, 4 * KiB},   {share(2), 32, 4, 32 * KiB},       {4 * processors, 32, 4, 8 * KiB},
  };
  if (is_fixed(parameters)) {
    const BulkShape shape = fixed_shape(wanted.front(), parameters);
    check_shape(shape, limits);
    return {shape};
  }
  std::vector<BulkShape> shapes;
  for (const BulkShape& each : wanted) {
    const BulkShape shape = fitted(each, bytes);
    const bool known = std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
    if (!known && shape.shared_bytes() <= limits.shared_bytes) shapes.push_back(shape);
  }
  return shapes;
}

std::map<std::string, std::string> bulk_parameters() {
  return {{"blocks", "blocks of the grid; default: tuned"},
          {"threads", "threads per block, a multiple of 32: one of each warp drives a ring; default: tuned"},
          {"stages",
           "pieces in flight per warp, half of them coming, half leaving: 2, 4, 8 or 16; default: tuned"},
          {"stage_bytes", "bytes of one piece, a multiple of 16; default: tuned"}};
}

}  // namespace linkscope::gpu
