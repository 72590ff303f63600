#include "workload/halo_layout.hpp"

namespace linkscope::workload {
namespace {

constexpr Bytes word = sizeof(double);
constexpr std::int64_t layers = 2;  // of the halo in memory

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

const Chunk& chunk_of(const CellGrid& grid, int rank) { return grid.chunks[static_cast<std::size_t>(rank)]; }

}  // namespace

HaloLayout::HaloLayout(const CellGrid& grid, int rank, std::byte* base)
    : grid_(&grid),
      chunk_(chunk_of(grid, rank)),
      base_(base),
      pitch_((chunk_.columns + halo_guard) * word),
      field_bytes_(pitch_ * (chunk_.rows + halo_guard)) {}

Bytes HaloLayout::bytes(const CellGrid& grid, int rank) {
  const Chunk& chunk = chunk_of(grid, rank);
  return grid.fields.size() * (chunk.columns + halo_guard) * (chunk.rows + halo_guard) * word;
}

std::vector<PackedRows> HaloLayout::packed(const HaloExchange& exchange, int peer, std::byte* at) const {
  std::vector<PackedRows> pieces;
  const bool along_x = exchange.axis == GridAxis::x;
  const std::uint64_t side = (along_x ? chunk_.rows : chunk_.columns) + halo_guard;
  const auto depth = static_cast<std::uint64_t>(exchange.depth);
  for (const int field : exchange.fields) {
    const Box box = sent(field, exchange.depth, exchange.axis, peer);
    if (along_x) {
      pieces.push_back({at, depth * word, address(field, box.left, box.low), pitch_, depth, box.rows});
      at += depth * side * word;
      continue;
    }
    for (std::uint64_t layer = 0; layer < depth; ++layer, at += side * word)
      pieces.push_back(
          {at, side * word, address(field, box.left, box.low + as_signed(layer)), pitch_, box.columns, 1});
  }
  return pieces;
}

std::vector<PackedRows> HaloLayout::unpacked(const HaloExchange& exchange, int peer,
                                             const std::byte* at) const {
  std::vector<PackedRows> pieces;
  const bool along_x = exchange.axis == GridAxis::x;
  const std::uint64_t side = (along_x ? chunk_.rows : chunk_.columns) + halo_guard;
  const auto depth = static_cast<std::uint64_t>(exchange.depth);
  for (const int field : exchange.fields) {
    const Box box = received(field, exchange.depth, exchange.axis, peer);
    if (along_x) {
      pieces.push_back({address(field, box.left, box.low), pitch_, at, depth * word, depth, box.rows});
      at += depth * side * word;
      continue;
    }
    for (std::uint64_t layer = 0; layer < depth; ++layer, at += side * word)
      pieces.push_back(
          {address(field, box.left, box.low + as_signed(layer)), pitch_, at, side * word, box.columns, 1});
  }
  return pieces;
}

GridBox HaloLayout::whole(int field) const {
  const GridField& own = this->field(field);
  return grid_box(field, {-layers, -layers, chunk_.columns + 2 * layers + as_unsigned(own.extra_x),
                          chunk_.rows + 2 * layers + as_unsigned(own.extra_y)});
}

GridBox HaloLayout::halo(int field, int depth, GridAxis axis, int peer) const {
  return grid_box(field, received(field, depth, axis, peer));
}

HaloLayout::Place HaloLayout::place(int field, int depth, GridAxis axis, int peer,
                                    const WrongWord& wrong) const {
  const Box box = received(field, depth, axis, peer);
  return {as_signed(chunk_.x) + box.left + as_signed(wrong.column),
          as_signed(chunk_.y) + box.low + as_signed(wrong.row)};
}

/// Whether the peer's chunk is to the right of this one, or above it.
bool HaloLayout::beyond(int peer, GridAxis axis) const {
  const Chunk& other = chunk_of(*grid_, peer);
  return axis == GridAxis::x ? other.x > chunk_.x : other.y > chunk_.y;
}

/// What two chunks have both, where values are on corners, neither sends.
HaloLayout::Box HaloLayout::sent(int field, int depth, GridAxis axis, int peer) const {
  const GridField& own = this->field(field);
  const bool along_x = axis == GridAxis::x;
  const std::int64_t cells = as_signed(along_x ? chunk_.columns : chunk_.rows);
  return across(field, depth, axis, beyond(peer, axis) ? cells - depth : along_x ? own.extra_x : own.extra_y);
}

HaloLayout::Box HaloLayout::received(int field, int depth, GridAxis axis, int peer) const {
  const GridField& own = this->field(field);
  const bool along_x = axis == GridAxis::x;
  const std::int64_t cells =
      as_signed(along_x ? chunk_.columns + as_unsigned(own.extra_x) : chunk_.rows + as_unsigned(own.extra_y));
  return across(field, depth, axis, beyond(peer, axis) ? cells : -depth);
}

/// `depth` layers from `first` on, along the axis; across it all cells and `depth` layers of halo at either end.
HaloLayout::Box HaloLayout::across(int field, int depth, GridAxis axis, std::int64_t first) const {
  const GridField& own = this->field(field);
  const auto deep = static_cast<std::uint64_t>(depth);
  if (axis == GridAxis::x) return {first, -depth, deep, chunk_.rows + as_unsigned(own.extra_y) + 2 * deep};
  return {-depth, first, chunk_.columns + as_unsigned(own.extra_x) + 2 * deep, deep};
}

std::byte* HaloLayout::address(int field, std::int64_t column, std::int64_t row) const {
  return base_ + static_cast<Bytes>(field) * field_bytes_ + as_unsigned(row + layers) * pitch_ +
         as_unsigned(column + layers) * word;
}

GridBox HaloLayout::grid_box(int field, const Box& box) const {
  const std::uint64_t step = grid_->columns + halo_guard;
  const std::uint64_t before = static_cast<std::uint64_t>(field) * step * (grid_->rows + halo_guard);
  const std::uint64_t first = before + as_unsigned(as_signed(chunk_.y) + box.low + layers) * step +
                              as_unsigned(as_signed(chunk_.x) + box.left + layers);
  return {address(field, box.left, box.low), pitch_, box.columns, box.rows, first, step};
}

const GridField& HaloLayout::field(int index) const { return grid_->fields[static_cast<std::size_t>(index)]; }

}  // namespace linkscope::workload
