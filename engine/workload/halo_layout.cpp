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

/// Calls `add(field, message, message_pitch, words, rows)` for each piece of a message: where it is in the field and from
/// which byte of the message on. A row of the message is as long as its formula has it.
template <class Add>
void HaloLayout::for_each_piece(const HaloExchange& exchange, int peer, BoxOf box_of, const Add& add) const {
  const bool along_x = exchange.axis == GridAxis::x;
  const Bytes side = ((along_x ? chunk_.rows : chunk_.columns) + halo_guard) * word;
  const auto depth = static_cast<std::uint64_t>(exchange.depth);
  Bytes message = 0;
  for (const int field : exchange.fields) {
    const Box box = (this->*box_of)(field, exchange, peer);
    if (along_x) {
      add(address(field, box.left, box.low), message, depth * word, depth, box.rows);
      message += depth * side;
      continue;
    }
    for (std::uint64_t layer = 0; layer < depth; ++layer, message += side)
      add(address(field, box.left, box.low + as_signed(layer)), message, side, box.columns, 1);
  }
}

std::vector<PackedRows> HaloLayout::packed(const HaloExchange& exchange, int peer, std::byte* at) const {
  std::vector<PackedRows> pieces;
  for_each_piece(exchange, peer, &HaloLayout::sent,
                 [&](std::byte* field, Bytes message, Bytes pitch, std::uint64_t words, std::uint64_t rows) {
                   pieces.push_back({at + message, pitch, field, pitch_, words, rows});
                 });
  return pieces;
}

std::vector<PackedRows> HaloLayout::unpacked(const HaloExchange& exchange, int peer,
                                             const std::byte* at) const {
  std::vector<PackedRows> pieces;
  for_each_piece(exchange, peer, &HaloLayout::received,
                 [&](std::byte* field, Bytes message, Bytes pitch, std::uint64_t words, std::uint64_t rows) {
                   pieces.push_back({field, pitch_, at + message, pitch, words, rows});
                 });
  return pieces;
}

GridBox HaloLayout::whole(int field) const {
  const GridField& own = this->field(field);
  return grid_box(field, {-layers, -layers, chunk_.columns + 2 * layers + as_unsigned(own.extra_x),
                          chunk_.rows + 2 * layers + as_unsigned(own.extra_y)});
}

GridBox HaloLayout::edge(int field, const HaloExchange& exchange, int peer) const {
  return grid_box(field, sent(field, exchange, peer));
}

GridBox HaloLayout::halo(int field, const HaloExchange& exchange, int peer) const {
  return grid_box(field, received(field, exchange, peer));
}

HaloLayout::Place HaloLayout::place(int field, const HaloExchange& exchange, int peer,
                                    const WrongWord& wrong) const {
  const Box box = received(field, exchange, peer);
  return {as_signed(chunk_.x) + box.left + as_signed(wrong.column),
          as_signed(chunk_.y) + box.low + as_signed(wrong.row)};
}

/// Whether the peer's chunk is to the right of this one, or above it.
bool HaloLayout::is_beyond(int peer, GridAxis axis) const {
  const Chunk& other = chunk_of(*grid_, peer);
  return axis == GridAxis::x ? other.x > chunk_.x : other.y > chunk_.y;
}

/// Two chunks both hold the values on their common corners and sides, so neither sends those.
HaloLayout::Box HaloLayout::sent(int field, const HaloExchange& exchange, int peer) const {
  const GridField& own = this->field(field);
  const bool along_x = exchange.axis == GridAxis::x;
  const std::int64_t cells = as_signed(along_x ? chunk_.columns : chunk_.rows);
  const std::int64_t common = along_x ? own.extra_x : own.extra_y;
  return across(field, exchange, is_beyond(peer, exchange.axis) ? cells - exchange.depth : common);
}

HaloLayout::Box HaloLayout::received(int field, const HaloExchange& exchange, int peer) const {
  const GridField& own = this->field(field);
  const bool along_x = exchange.axis == GridAxis::x;
  const std::int64_t cells = as_signed(along_x ? chunk_.columns : chunk_.rows);
  const std::int64_t common = along_x ? own.extra_x : own.extra_y;
  return across(field, exchange, is_beyond(peer, exchange.axis) ? cells + common : -exchange.depth);
}

/// The box has the exchange's layers from `first` on along the axis, and across it all cells and as many layers of halo at
/// either end.
HaloLayout::Box HaloLayout::across(int field, const HaloExchange& exchange, std::int64_t first) const {
  const GridField& own = this->field(field);
  const auto deep = static_cast<std::uint64_t>(exchange.depth);
  if (exchange.axis == GridAxis::x)
    return {first, -exchange.depth, deep, chunk_.rows + as_unsigned(own.extra_y) + 2 * deep};
  return {-exchange.depth, first, chunk_.columns + as_unsigned(own.extra_x) + 2 * deep, deep};
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

}  // namespace linkscope::workload
