// Message calls: the calls of MPI that move messages between two ranks, as each of the two makes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/mpi/functions.h"
#include "base/units.hpp"
#include "model/gpu_runtime.hpp"
#include "model/slots.hpp"

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
};

/// What a loop returns where a bounce failed: no code of MPI's.
inline constexpr int bounce_failed = -1;

/// Repeats [first, first + repeats): 0, or the code of the first call that failed, where it ends.
using Exchange = int (*)(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats);

/// Blocking sends, each acknowledged by an empty message: the time is until arrival.
int send_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
int receive_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
/// `depth` messages under way, then an answer of 4 bytes, as osu_bw.
int send_window(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
int receive_window(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
/// `depth` messages under way in each direction, as osu_bibw. The first end waits for what it sends before what it
/// gets, the second the other way round.
int exchange_windows_first(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
int exchange_windows_second(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
/// There and back, as osu_latency.
int ping(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
int pong(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
/// One-sided, `depth` at a time completed at both ends: one, as osu_put_latency and osu_get_latency with flush, or
/// many, as osu_put_bw and osu_get_bw.
int put_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;
int get_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept;

}  // namespace linkscope::mpi
