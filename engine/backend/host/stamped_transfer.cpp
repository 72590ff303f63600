#include "backend/host/stamped_transfer.hpp"

#include <algorithm>

namespace linkscope::host {

void StampedTransfer::expect(Clock clock) {
  clock_ = clock;
  begun_ = false;
  span_.reset();
}

void StampedTransfer::perform(unsigned /*part*/, std::uint64_t first, std::uint64_t repeats) noexcept {
  const std::optional<Span> span = carry_out(first, repeats);
  if (!begun_) span_ = span;
  begun_ = true;
}

Span StampedTransfer::counted(const Span& span) {
  if (!span_) return span;
  Span own = *span_;
  own.idle = std::max(span.idle, own.end);
  own.interference = span.interference;
  return own;
}

}  // namespace linkscope::host
