// Call: the values of parameter `call` of method mpi, one row each.
#pragma once

#include <string_view>

#include "backend/mpi/message_calls.hpp"
#include "model/flow.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

enum class Directions { one, both };
enum class Sides { two, one };
/// Whose process's time is the flow's.
enum class TimedAt { source, destination };
/// Operations of one repeat: time is reported per operation.
enum class Operations { one, two, window, both_windows };

struct Call {
  std::string_view word;
  const char* made_of = "";  ///< for messages
  Quantity quantity = Quantity::bandwidth;
  Directions directions = Directions::one;
  Sides sides = Sides::two;
  TimedAt timed_at = TimedAt::source;
  Operations operations = Operations::one;
  Exchange at_source = nullptr;  ///< null: attends while the other side puts or gets
  Exchange at_destination = nullptr;

  /// Parameter `call`. Throws Error{bad_input} for a word that means nothing.
  static const Call& of(const Flow& flow);
  [[nodiscard]] bool keeps_many_under_way() const {
    return operations == Operations::window || operations == Operations::both_windows;
  }
};

/// Parameter `window` where the call has one, else 1. Throws Error{bad_input} for a number out of range.
[[nodiscard]] int window_of(const Flow& flow);
/// Operations of one repeat of this flow.
[[nodiscard]] std::uint64_t operations_of(const Flow& flow);

}  // namespace linkscope::mpi
