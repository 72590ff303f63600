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
  return span_ ? Span{span_->start, span_->end, std::max(span.idle, span_->end)} : span;
}

}  // namespace linkscope::host
