// CollectivePayload: the real bytes behind a modelled collective, all members' together.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/modelled/flow_payload.hpp"
#include "model/collective.hpp"
#include "model/collective_check.hpp"

namespace linkscope::modelled {

/// Carries out a collective of that kind that is as large as what is real of the members' buffers
/// (ModelledBuffer::window).
class CollectivePayload {
 public:
  /// `arenas`: every member's, in order; they outlive it. Throws Error{bad_input} where one is too small.
  CollectivePayload(const CollectiveShape& shape, std::vector<Arenas> arenas);

  /// Inputs are new.
  void begin() { moved_ = false; }
  /// Of what accumulates, once since begin(): sums would leave the numbers that its type has.
  void move();
  /// Damages one byte of the first member that receives.
  void spoil();
  [[nodiscard]] CollectiveCheck& check(int member) { return checks_.at(static_cast<std::size_t>(member)); }

 private:
  [[nodiscard]] const Buffer& input_of(int member) const;
  [[nodiscard]] Bytes input_at(int member) const;
  void reduce(Bytes from, int receiver);
  void copy(int from, Bytes from_at, int to, Bytes to_at, Bytes length);

  CollectiveShape shape_;
  std::vector<Arenas> arenas_;
  std::vector<CollectiveCheck> checks_;
  bool moved_ = false;
};

/// Member `index`'s share: the first one's moves everyone's bytes.
std::unique_ptr<FlowPayload> make_share(std::shared_ptr<CollectivePayload> payload, int index);

}  // namespace linkscope::modelled
