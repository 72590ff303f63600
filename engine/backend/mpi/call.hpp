// Call: the words of parameter `call` of method mpi, one row each, and the calls of MPI that each of the two ends
// makes.
#pragma once

#include <cstdint>

#include "backend/mpi/functions.h"
#include "base/units.hpp"
#include "model/flow.hpp"
#include "model/gpu_runtime.hpp"
#include "model/copy_check.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// Tags that no other flow under way has: of messages, of the partners' barriers, of answers.
struct Tags {
  int message = 0;
  int barrier = 1;
  int answer = 2;
};

/// All that one rank's loop needs.
struct CallArguments {
  const MpiFunctions* mpi = nullptr;
  MpiHandle communicator = 0;
  MpiHandle window = 0;  ///< of a one-sided call
  int peer = 0;
  Tags tags;
  std::int64_t bytes = 0;
  int depth = 1;  ///< messages under way at a time
  Slots out;
  Slots in;
  BounceBuffer* out_bounce = nullptr;  ///< null: MPI is given the memory itself
  BounceBuffer* in_bounce = nullptr;
  void* requests = nullptr;  ///< room for 2 * depth of them
  int bounce_code = 0;       ///< what a bounce failed with

  int send(const std::byte* from, std::int64_t size, int tag) const noexcept {
    return mpi->send(from, size, peer, tag, communicator);
  }
  int receive(std::byte* to, std::int64_t size, int tag) const noexcept {
    return mpi->receive(to, size, peer, tag, communicator);
  }
  /// Waits for the `depth` messages whose requests are from number `first` on.
  int wait(int first) const noexcept { return mpi->wait_all(depth, requests, first); }
};

/// A loop returns this where a bounce failed: it is no code of MPI's.
inline constexpr int bounce_failed = -1;

/// Repeats [first, first + repeats): 0, or the code of the first call that failed, where it ends.
using MessageLoop = int (*)(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats);

inline constexpr Parameter call_parameter =
    word("call", "send|window|both-ways|ping-pong|put|get|put-window|get-window",
         "send: blocking, each answered by an empty message, so the time is until arrival; window: many "
         "under way, then an answer, as osu_bw; both-ways: windows in both directions at once, whose sum is "
         "the result, as osu_bibw; ping-pong: half of a round trip, as osu_latency; put: one-sided, each "
         "flushed, as osu_put_latency; get: one-sided, each flushed, as osu_get_latency; put-window: many, "
         "then a flush, as osu_put_bw; get-window: many, then a flush, as osu_get_bw");
inline constexpr Parameter window_parameter =
    integer("window", "messages in flight, for the window calls", 1, 4096, 64);  // osu_bw's

struct Call {
  const char* made_of = "";  ///< for messages
  Quantity quantity = Quantity::bandwidth;
  bool both_ways = false;           ///< data go in both directions
  bool many = false;                ///< a repeat is a window of messages under way
  MessageLoop at_source = nullptr;  ///< null: attends while the other side puts or gets, and is timed
  MessageLoop at_destination = nullptr;

  static const Call& of(const Flow& flow);
  [[nodiscard]] bool one_sided() const { return at_source == nullptr || at_destination == nullptr; }
  /// Whose process's time is the flow's.
  [[nodiscard]] Side timed_side() const { return at_source == nullptr ? Side::destination : Side::source; }
};

/// Parameter `window` where the call has one, else 1.
[[nodiscard]] int window_of(const Flow& flow);
/// Operations of one repeat of this flow: time is reported per operation.
[[nodiscard]] std::uint64_t operations_of(const Flow& flow);

}  // namespace linkscope::mpi
