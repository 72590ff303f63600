// HaloLayout: where the fields of a rank's chunk are, and which of their words a halo message carries.
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"
#include "model/packer.hpp"
#include "model/schedule.hpp"

namespace linkscope::workload {

/// Fields (float64) are laid out as CloverLeaf does it: two halo layers around the cells, and room for one value more where they
/// are on corners or sides. All fields have (columns + 5) x (rows + 5) words.
class HaloLayout {
 public:
  /// `base`: of the first field. The grid outlives it.
  HaloLayout(const CellGrid& grid, int rank, std::byte* base)
      : grid_(&grid),
        chunk_(chunk_of(grid, rank)),
        base_(base),
        pitch_((chunk_.columns + halo_guard) * value_bytes),
        field_bytes_(pitch_ * (chunk_.rows + halo_guard)) {}

  [[nodiscard]] static Bytes bytes(const CellGrid& grid, int rank) {
    const Chunk& chunk = chunk_of(grid, rank);
    return grid.fields.size() * (chunk.columns + halo_guard) * (chunk.rows + halo_guard) * value_bytes;
  }

  /// Returns what goes to `peer`, packed from `at` on: along x a piece for each field, by rows; along y one for each layer of
  /// each. A field begins where the message's formula has it; the words between are sent as they are.
  [[nodiscard]] std::vector<PackedRows> packed(const HaloExchange& exchange, int peer, std::byte* at) const {
    std::vector<PackedRows> pieces;
    for_each_piece(
        exchange, peer, Way::sent,
        [&](std::byte* field, Bytes message, Bytes pitch, std::uint64_t words, std::uint64_t rows) {
          pieces.push_back({at + message, pitch, field, pitch_, words, rows});
        });
    return pieces;
  }

  /// Returns what comes from `peer`, unpacked from `at` on.
  [[nodiscard]] std::vector<PackedRows> unpacked(const HaloExchange& exchange, int peer,
                                                 const std::byte* at) const {
    std::vector<PackedRows> pieces;
    for_each_piece(
        exchange, peer, Way::received,
        [&](std::byte* field, Bytes message, Bytes pitch, std::uint64_t words, std::uint64_t rows) {
          pieces.push_back({field, pitch_, at + message, pitch, words, rows});
        });
    return pieces;
  }

  /// Returns a whole field: cells, corners and halo.
  [[nodiscard]] GridBox whole(int field) const {
    const GridField& own = this->field(field);
    return grid_box(field, {-layers, -layers, chunk_.columns + 2 * layers + as_unsigned(own.extra_x),
                            chunk_.rows + 2 * layers + as_unsigned(own.extra_y)});
  }

  /// Returns the layers of a field that an exchange with `peer` sends.
  [[nodiscard]] GridBox edge(int field, const HaloExchange& exchange, int peer) const {
    return grid_box(field, box_of(field, exchange, peer, Way::sent));
  }

  /// Returns the layers of a field that an exchange with `peer` fills, corners included.
  [[nodiscard]] GridBox halo(int field, const HaloExchange& exchange, int peer) const {
    return grid_box(field, box_of(field, exchange, peer, Way::received));
  }

  /// Column and row in the grid of a word of halo(): below 0 and beyond the cells in the halo of the grid itself.
  struct Place {
    std::int64_t column = 0;
    std::int64_t row = 0;
  };
  [[nodiscard]] Place place(int field, const HaloExchange& exchange, int peer, const WrongWord& wrong) const {
    const Box box = box_of(field, exchange, peer, Way::received);
    return {as_signed(chunk_.x) + box.left + as_signed(wrong.column),
            as_signed(chunk_.y) + box.low + as_signed(wrong.row)};
  }

 private:
  /// Columns [left, left + columns) and rows [low, low + rows) of a field, from its first cell on.
  struct Box {
    std::int64_t left = 0;
    std::int64_t low = 0;
    std::uint64_t columns = 0;
    std::uint64_t rows = 0;
  };
  enum class Way { sent, received };

  /// Calls `add(field, message, message_pitch, words, rows)` for each piece of a message: where it is in the field and from
  /// which byte of the message on. A row of the message is as long as its formula has it.
  template <class Add>
  void for_each_piece(const HaloExchange& exchange, int peer, Way way, const Add& add) const {
    const bool along_x = exchange.axis == GridAxis::x;
    const Bytes side = ((along_x ? chunk_.rows : chunk_.columns) + halo_guard) * value_bytes;
    const auto depth = static_cast<std::uint64_t>(exchange.depth);
    Bytes message = 0;
    for (const int field : exchange.fields) {
      const Box box = box_of(field, exchange, peer, way);
      if (along_x) {
        add(address(field, box.left, box.low), message, depth * value_bytes, depth, box.rows);
        message += depth * side;
        continue;
      }
      for (std::uint64_t layer = 0; layer < depth; ++layer, message += side)
        add(address(field, box.left, box.low + as_signed(layer)), message, side, box.columns, 1);
    }
  }

  /// Says whether the peer's chunk is to the right of this one, or above it.
  [[nodiscard]] bool is_beyond(int peer, GridAxis axis) const {
    const Chunk& other = chunk_of(*grid_, peer);
    return axis == GridAxis::x ? other.x > chunk_.x : other.y > chunk_.y;
  }

  /// Two chunks both hold the values on their common corners and sides, so neither sends those.
  [[nodiscard]] Box box_of(int field, const HaloExchange& exchange, int peer, Way way) const {
    const GridField& own = this->field(field);
    const bool along_x = exchange.axis == GridAxis::x;
    const std::int64_t cells = as_signed(along_x ? chunk_.columns : chunk_.rows);
    const std::int64_t common = along_x ? own.extra_x : own.extra_y;
    if (is_beyond(peer, exchange.axis))
      return across(field, exchange, way == Way::sent ? cells - exchange.depth : cells + common);
    return across(field, exchange, way == Way::sent ? common : -exchange.depth);
  }

  /// The box has the exchange's layers from `first` on along the axis, and across it all cells and as many layers of halo at
  /// either end.
  [[nodiscard]] Box across(int field, const HaloExchange& exchange, std::int64_t first) const {
    const GridField& own = this->field(field);
    const auto deep = static_cast<std::uint64_t>(exchange.depth);
    if (exchange.axis == GridAxis::x)
      return {first, -exchange.depth, deep, chunk_.rows + as_unsigned(own.extra_y) + 2 * deep};
    return {-exchange.depth, first, chunk_.columns + as_unsigned(own.extra_x) + 2 * deep, deep};
  }

  [[nodiscard]] std::byte* address(int field, std::int64_t column, std::int64_t row) const {
    return base_ + static_cast<Bytes>(field) * field_bytes_ + as_unsigned(row + layers) * pitch_ +
           as_unsigned(column + layers) * value_bytes;
  }

  [[nodiscard]] GridBox grid_box(int field, const Box& box) const {
    const std::uint64_t step = grid_->columns + halo_guard;
    const std::uint64_t before = static_cast<std::uint64_t>(field) * step * (grid_->rows + halo_guard);
    const std::uint64_t first = before + as_unsigned(as_signed(chunk_.y) + box.low + layers) * step +
                                as_unsigned(as_signed(chunk_.x) + box.left + layers);
    return {address(field, box.left, box.low), pitch_, box.columns, box.rows, first, step};
  }

  [[nodiscard]] const GridField& field(int index) const {
    return grid_->fields[static_cast<std::size_t>(index)];
  }

  static constexpr Bytes value_bytes = sizeof(double);
  static constexpr std::int64_t layers = 2;  // of the halo in memory

  [[nodiscard]] static std::int64_t as_signed(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] static std::uint64_t as_unsigned(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
  }
  [[nodiscard]] static const Chunk& chunk_of(const CellGrid& grid, int rank) {
    return grid.chunks[static_cast<std::size_t>(rank)];
  }

  const CellGrid* grid_;
  Chunk chunk_;
  std::byte* base_;
  Bytes pitch_;
  Bytes field_bytes_;
};

}  // namespace linkscope::workload
