// CollectiveCheck: arms and verifies one member's buffers of a collective, wherever they are.
#pragma once

#include <cstdint>
#include <optional>

#include "model/collective.hpp"
#include "model/flow_part.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// Inputs are whole numbers whose sums are exact in every type (model/elements.hpp), so that results compare for
/// equality. Each arm() lays other inputs: the first call after it must bring sums that no earlier call left. Calls that
/// repeat give the same result, but not those that accumulate (CollectiveShape), of which that first call is checked.
class CollectiveCheck final : public Check {
 public:
  /// `index`: the member's. `output_offset`: bytes from the start of a destination's slot to the output. Throws
  /// Error{bad_input} where an arena is too small.
  CollectiveCheck(const CollectiveShape& shape, int index, const Arenas& arenas, Bytes output_offset = 0);

  /// Fills the inputs of every slot and poisons the outputs.
  void arm(std::uint64_t seed) override;
  /// Lays the inputs of the first `slots_touched` slots again where calls accumulate: numbers never grow beyond their
  /// type's range, nor become zeros.
  void restore(std::uint64_t slots_touched) override;
  /// Compares the outputs of the first `slots_touched` slots (at most all) with what must be there.
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed,
                                               std::uint64_t slots_touched) const override;
  [[nodiscard]] Bytes verified_bytes(std::uint64_t slots_touched) const override;
  /// Flushes CPU caches of both buffers.
  void flush() override;

 private:
  void arm_slot(Bytes at, std::uint64_t seed) const;
  [[nodiscard]] std::optional<Mismatch> verify_slot(Bytes at, std::uint64_t seed) const;
  [[nodiscard]] std::optional<Mismatch> verify_run(Bytes at, Bytes length, const Elements& expected,
                                                   std::uint64_t seed) const;
  [[nodiscard]] Elements elements(Values values, int member, Bytes from) const;

  CollectiveShape shape_;
  int index_;
  Arenas arenas_;
  Bytes output_offset_;
  std::uint64_t seed_ = 0;  ///< of the last arm()
};

}  // namespace linkscope
