#include "backend/mpi/call.hpp"

#include <array>

namespace linkscope::mpi {

namespace {

constexpr std::int64_t answer_bytes = 4;
enum class WaitFirst { sends, receives };

/// Fills the bounce, where there is one, from the slot at `at` and puts it in the slot's place.
int loaded(CallArguments& arguments, const std::byte*& at) noexcept {
  if (arguments.out_bounce == nullptr) return 0;
  arguments.bounce_code = arguments.out_bounce->load(at, static_cast<Bytes>(arguments.bytes));
  at = arguments.out_bounce->data();
  return arguments.bounce_code == 0 ? 0 : bounce_failed;
}

int send_one(CallArguments& arguments, std::uint64_t index) noexcept {
  const std::byte* at = arguments.out.at(index);
  if (const int code = loaded(arguments, at); code != 0) return code;
  return arguments.send(at, arguments.bytes, arguments.tags.message);
}

int receive_one(CallArguments& arguments, std::uint64_t index) noexcept {
  std::byte* const slot = arguments.in.at(index);
  std::byte* const at = arguments.in_bounce == nullptr ? slot : arguments.in_bounce->data();
  const int code = arguments.receive(at, arguments.bytes, arguments.tags.message);
  if (code != 0 || arguments.in_bounce == nullptr) return code;
  arguments.bounce_code = arguments.in_bounce->store(slot, static_cast<Bytes>(arguments.bytes));
  return arguments.bounce_code == 0 ? 0 : bounce_failed;
}

/// Begins the `depth` messages of one repeat by `begin(slot, request)`; their requests from number `at` on.
template <class Begin>
int begin_all(const CallArguments& arguments, const Slots& slots, std::uint64_t repeat, int at,
              const Begin& begin) noexcept {
  const std::uint64_t first = repeat * static_cast<std::uint64_t>(arguments.depth);
  for (int i = 0; i < arguments.depth; ++i) {
    const int code = begin(slots.at(first + static_cast<std::uint64_t>(i)), at + i);
    if (code != 0) return code;
  }
  return 0;
}

int begin_sends(CallArguments& arguments, std::uint64_t repeat, int at) noexcept {
  return begin_all(arguments, arguments.out, repeat, at, [&](const std::byte* from, int request) {
    return arguments.mpi->begin_send(from, arguments.bytes, arguments.peer, arguments.tags.message,
                                     arguments.communicator, arguments.requests, request);
  });
}

int begin_receives(CallArguments& arguments, std::uint64_t repeat, int at) noexcept {
  return begin_all(arguments, arguments.in, repeat, at, [&](std::byte* to, int request) {
    return arguments.mpi->begin_receive(to, arguments.bytes, arguments.peer, arguments.tags.message,
                                        arguments.communicator, arguments.requests, request);
  });
}

/// Does `work` for each repeat, up to the first that fails.
template <class Work>
int each(std::uint64_t first, std::uint64_t repeats, const Work& work) noexcept {
  for (std::uint64_t repeat = first; repeat < first + repeats; ++repeat) {
    if (const int code = work(repeat); code != 0) return code;
  }
  return 0;
}

/// Blocking sends, each acknowledged by an empty message: the time is until arrival.
int send_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = send_one(arguments, repeat); code != 0) return code;
    return arguments.receive(nullptr, 0, arguments.tags.answer);
  });
}

int receive_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = receive_one(arguments, repeat); code != 0) return code;
    return arguments.send(nullptr, 0, arguments.tags.answer);
  });
}

/// `depth` messages under way, then an answer of 4 bytes, as osu_bw.
int send_window(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  std::array<std::byte, answer_bytes> answer{};
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_sends(arguments, repeat, 0); code != 0) return code;
    if (const int code = arguments.wait(0); code != 0) return code;
    return arguments.receive(answer.data(), answer_bytes, arguments.tags.answer);
  });
}

int receive_window(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  const std::array<std::byte, answer_bytes> answer{};
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_receives(arguments, repeat, 0); code != 0) return code;
    if (const int code = arguments.wait(0); code != 0) return code;
    return arguments.send(answer.data(), answer_bytes, arguments.tags.answer);
  });
}

/// `depth` messages under way in each direction, as osu_bibw. The first end waits for what it sends before what it
/// gets, the second the other way round.
template <WaitFirst order>
int exchange_windows(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_receives(arguments, repeat, 0); code != 0) return code;
    if (const int code = begin_sends(arguments, repeat, arguments.depth); code != 0) return code;
    const int waited_first = order == WaitFirst::sends ? arguments.depth : 0;
    if (const int code = arguments.wait(waited_first); code != 0) return code;
    return arguments.wait(arguments.depth - waited_first);
  });
}

/// There and back, as osu_latency.
int ping(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = send_one(arguments, repeat);
    return code != 0 ? code : receive_one(arguments, repeat);
  });
}

int pong(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = receive_one(arguments, repeat);
    return code != 0 ? code : send_one(arguments, repeat);
  });
}

/// One-sided, `depth` at a time completed at both ends: one, as osu_put_latency and osu_get_latency with flush, or
/// many, as osu_put_bw and osu_get_bw.
int put_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = begin_all(arguments, arguments.out, repeat, 0, [&](const std::byte* from, int) {
      return arguments.mpi->put(from, arguments.bytes, arguments.peer, from - arguments.out.base,
                                arguments.window);
    });
    return code != 0 ? code : arguments.mpi->flush(arguments.peer, arguments.window);
  });
}

int get_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = begin_all(arguments, arguments.in, repeat, 0, [&](std::byte* to, int) {
      return arguments.mpi->get(to, arguments.bytes, arguments.peer, to - arguments.in.base,
                                arguments.window);
    });
    return code != 0 ? code : arguments.mpi->flush(arguments.peer, arguments.window);
  });
}

// The calls are in the order of call_parameter's words.
constexpr std::array<Call, 8> calls{{
    {.made_of = "MPI_Send, MPI_Recv", .at_source = send_each, .at_destination = receive_each},
    {.made_of = "MPI_Isend, MPI_Irecv, MPI_Waitall",
     .many = true,
     .at_source = send_window,
     .at_destination = receive_window},
    {.made_of = "MPI_Isend, MPI_Irecv, MPI_Waitall",
     .both_ways = true,
     .many = true,
     .at_source = exchange_windows<WaitFirst::sends>,
     .at_destination = exchange_windows<WaitFirst::receives>},
    {.made_of = "MPI_Send, MPI_Recv",
     .quantity = Quantity::latency,
     .both_ways = true,
     .at_source = ping,
     .at_destination = pong},
    {.made_of = "MPI_Put, MPI_Win_flush", .quantity = Quantity::latency, .at_source = put_each},
    {.made_of = "MPI_Get, MPI_Win_flush", .quantity = Quantity::latency, .at_destination = get_each},
    {.made_of = "MPI_Put, MPI_Win_flush", .many = true, .at_source = put_each},
    {.made_of = "MPI_Get, MPI_Win_flush", .many = true, .at_destination = get_each},
}};

}  // namespace

const Call& Call::of(const Flow& flow) {
  return calls.at(flow.parameters.choice<std::size_t>(call_parameter));
}

int window_of(const Flow& flow) {
  return Call::of(flow).many ? static_cast<int>(flow.parameters.number(window_parameter)) : 1;
}

std::uint64_t operations_of(const Flow& flow) {
  return static_cast<std::uint64_t>(window_of(flow)) * (Call::of(flow).both_ways ? 2 : 1);
}

}  // namespace linkscope::mpi
