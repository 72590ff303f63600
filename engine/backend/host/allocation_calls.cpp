#include "backend/host/allocation_calls.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace linkscope::host {

namespace {

constexpr int too_many = std::numeric_limits<int>::min();  // no system's or vendor's code

}  // namespace

AllocationCalls::AllocationCalls(HostContext& context, int node, std::unique_ptr<Allocation> allocation,
                                 std::uint64_t capacity, Measured measured, Keeper keeper)
    : HostTransfer(node, 1),
      blocks_(std::move(allocation), capacity + (keeper == Keeper::one ? 1 : 0), context.workers(node)),
      capacity_(capacity),
      measured_(measured) {
  if (keeper == Keeper::one) blocks_.take_one(capacity);
  own_facts().max_repeats = capacity;
  own_facts().setting = {{"held", static_cast<std::int64_t>(capacity)}};
}

AllocationCalls::~AllocationCalls() {
  if (measured_ == Measured::give_back) blocks_.forget_first(used_);
}

void AllocationCalls::arm(std::uint64_t /*seed*/) {
  restart();
  code_ = 0;
  wrong_.reset();
}

void AllocationCalls::restore() {
  inspect();
  const std::uint64_t used = std::exchange(used_, 0);
  if (measured_ == Measured::take) {
    blocks_.give_back_first(used);
  } else {
    blocks_.allocation().settle();
    blocks_.forget_first(used);
    blocks_.take_first(capacity_);
  }
}

void AllocationCalls::inspect() {
  if (measured_ == Measured::take && code_ == 0 && !wrong_) wrong_ = blocks_.inspect_first(used_);
}

void AllocationCalls::perform(unsigned /*part*/, std::uint64_t /*first*/, std::uint64_t repeats) noexcept {
  const std::uint64_t count = std::min(repeats, capacity_ - used_);
  if (count < repeats) code_ = code_ == 0 ? too_many : code_;
  const int code =
      measured_ == Measured::take ? blocks_.take_here(used_, count) : blocks_.give_back_here(used_, count);
  used_ += count;
  if (code_ == 0) code_ = code;
}

std::optional<Mismatch> AllocationCalls::verify(std::uint64_t /*seed*/) const {
  if (code_ == too_many) return Mismatch{"more calls were asked for than blocks may be held"};
  if (code_ != 0) return Mismatch{blocks_.allocation().failure(code_).what()};
  if (wrong_) return Mismatch{*wrong_};
  if (measured_ == Measured::give_back) return std::nullopt;
  const auto wrong = blocks_.inspect_first(used_);
  return wrong ? std::optional(Mismatch{*wrong}) : std::nullopt;
}

}  // namespace linkscope::host
