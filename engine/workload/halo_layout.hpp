// HaloLayout: where the fields of a rank's chunk are, and which of their words a halo message carries.
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"
#include "model/packer.hpp"
#include "model/schedule.hpp"

namespace linkscope::workload {

/// As CloverLeaf lays its fields out (float64): two halo layers around the cells, and room for one value more where they
/// are on corners or sides. All fields have (columns + 5) x (rows + 5) words.
class HaloLayout {
 public:
  /// `base`: of the first field. The grid outlives it.
  HaloLayout(const CellGrid& grid, int rank, std::byte* base);

  [[nodiscard]] static Bytes bytes(const CellGrid& grid, int rank);

  /// What goes to `peer`, packed from `at` on: along x a piece for each field, by rows; along y one for each layer of
  /// each. A field begins where the message's formula has it; the words between are sent as they are.
  [[nodiscard]] std::vector<PackedRows> packed(const HaloExchange& exchange, int peer, std::byte* at) const;
  /// What comes from `peer`, unpacked from `at` on.
  [[nodiscard]] std::vector<PackedRows> unpacked(const HaloExchange& exchange, int peer,
                                                 const std::byte* at) const;

  /// A field whole: cells, corners and halo.
  [[nodiscard]] GridBox whole(int field) const;
  /// The layers of a field that an exchange with `peer` sends.
  [[nodiscard]] GridBox edge(int field, const HaloExchange& exchange, int peer) const;
  /// The layers of a field that an exchange with `peer` fills, corners included.
  [[nodiscard]] GridBox halo(int field, const HaloExchange& exchange, int peer) const;
  /// Column and row in the grid of a word of halo(): below 0 and beyond the cells in the halo of the grid itself.
  struct Place {
    std::int64_t column = 0;
    std::int64_t row = 0;
  };
  [[nodiscard]] Place place(int field, const HaloExchange& exchange, int peer, const WrongWord& wrong) const;

 private:
  /// Columns [left, left + columns) and rows [low, low + rows) of a field, from its first cell on.
  struct Box {
    std::int64_t left = 0;
    std::int64_t low = 0;
    std::uint64_t columns = 0;
    std::uint64_t rows = 0;
  };
  using BoxOf = Box (HaloLayout::*)(int field, const HaloExchange& exchange, int peer) const;

  template <class Add>
  void for_each_piece(const HaloExchange& exchange, int peer, BoxOf box_of, const Add& add) const;
  [[nodiscard]] bool is_beyond(int peer, GridAxis axis) const;
  [[nodiscard]] Box sent(int field, const HaloExchange& exchange, int peer) const;
  [[nodiscard]] Box received(int field, const HaloExchange& exchange, int peer) const;
  [[nodiscard]] Box across(int field, const HaloExchange& exchange, std::int64_t first) const;
  [[nodiscard]] std::byte* address(int field, std::int64_t column, std::int64_t row) const;
  [[nodiscard]] GridBox grid_box(int field, const Box& box) const;
  [[nodiscard]] const GridField& field(int index) const {
    return grid_->fields[static_cast<std::size_t>(index)];
  }

  const CellGrid* grid_;
  Chunk chunk_;
  std::byte* base_;
  Bytes pitch_;
  Bytes field_bytes_;
};

}  // namespace linkscope::workload
