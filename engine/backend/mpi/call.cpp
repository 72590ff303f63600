#include "backend/mpi/call.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"

namespace linkscope::mpi {

namespace {

constexpr std::int64_t default_window = 64;  // osu_bw's
constexpr std::int64_t largest_window = 4096;

constexpr auto bandwidth = Quantity::bandwidth;
constexpr auto latency = Quantity::latency;

// clang-format off
constexpr std::array<Call, 8> calls{{
    {"send", "MPI_Send, MPI_Recv", bandwidth, Directions::one, Sides::two, TimedAt::source, Operations::one, send_each, receive_each},
    {"window", "MPI_Isend, MPI_Irecv, MPI_Waitall", bandwidth, Directions::one, Sides::two, TimedAt::source, Operations::window, send_window, receive_window},
    {"both-ways", "MPI_Isend, MPI_Irecv, MPI_Waitall", bandwidth, Directions::both, Sides::two, TimedAt::source, Operations::both_windows, exchange_windows_first, exchange_windows_second},
    {"ping-pong", "MPI_Send, MPI_Recv", latency, Directions::both, Sides::two, TimedAt::source, Operations::two, ping, pong},
    {"put", "MPI_Put, MPI_Win_flush", latency, Directions::one, Sides::one, TimedAt::source, Operations::one, put_each, nullptr},
    {"get", "MPI_Get, MPI_Win_flush", latency, Directions::one, Sides::one, TimedAt::destination, Operations::one, nullptr, get_each},
    {"put-window", "MPI_Put, MPI_Win_flush", bandwidth, Directions::one, Sides::one, TimedAt::source, Operations::window, put_each, nullptr},
    {"get-window", "MPI_Get, MPI_Win_flush", bandwidth, Directions::one, Sides::one, TimedAt::destination, Operations::window, nullptr, get_each},
}};
// clang-format on

}  // namespace

const Call& Call::of(const Flow& flow) {
  const std::string word = flow.parameters.word("call", "send");
  const auto* const found =
      std::find_if(calls.begin(), calls.end(), [&](const Call& call) { return call.word == word; });
  if (found != calls.end()) return *found;
  std::string known;
  for (const Call& call : calls) known += (known.empty() ? "" : ", ") + std::string(call.word);
  throw Error(Fault::bad_input, "parameter call: '" + word + "' is none of " + known);
}

int window_of(const Flow& flow) {
  if (!Call::of(flow).keeps_many_under_way()) return 1;
  const std::int64_t window = flow.parameters.number("window", default_window);
  if (window >= 1 && window <= largest_window) return static_cast<int>(window);
  throw Error(Fault::bad_input, "parameter window: " + std::to_string(window) + " is not from 1 to " +
                                    std::to_string(largest_window));
}

std::uint64_t operations_of(const Flow& flow) {
  const auto window = static_cast<std::uint64_t>(window_of(flow));
  switch (Call::of(flow).operations) {
    case Operations::one:
      return 1;
    case Operations::two:
      return 2;
    case Operations::window:
      return window;
    case Operations::both_windows:
      return 2 * window;
  }
  return 1;
}

}  // namespace linkscope::mpi
