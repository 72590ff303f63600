#include "backend/mpi/message_calls.hpp"

#include <array>

namespace linkscope::mpi {

namespace {

constexpr std::int64_t answer_bytes = 4;
enum class WaitFirst { sends, receives };

/// What MPI is given in place of the slot at `at`, filled from it.
int loaded(CallArguments& wire, const std::byte*& at) noexcept {
  if (wire.out_bounce == nullptr) return 0;
  wire.bounce_code = wire.out_bounce->load(at, static_cast<Bytes>(wire.bytes));
  at = wire.out_bounce->data();
  return wire.bounce_code == 0 ? 0 : bounce_failed;
}

int send_one(CallArguments& wire, std::uint64_t index) noexcept {
  const std::byte* at = wire.out.at(index);
  if (const int code = loaded(wire, at); code != 0) return code;
  return wire.mpi->send(at, wire.bytes, wire.peer, wire.tags.message, wire.communicator);
}

int receive_one(CallArguments& wire, std::uint64_t index) noexcept {
  std::byte* const slot = wire.in.at(index);
  std::byte* const at = wire.in_bounce == nullptr ? slot : wire.in_bounce->data();
  const int code = wire.mpi->receive(at, wire.bytes, wire.peer, wire.tags.message, wire.communicator);
  if (code != 0 || wire.in_bounce == nullptr) return code;
  wire.bounce_code = wire.in_bounce->store(slot, static_cast<Bytes>(wire.bytes));
  return wire.bounce_code == 0 ? 0 : bounce_failed;
}

/// Begins the `depth` messages of one repeat by `begin(slot, request)`; their requests from number `at` on.
template <class Begin>
int begin_all(const CallArguments& wire, const Slots& slots, std::uint64_t repeat, int at,
              const Begin& begin) noexcept {
  const std::uint64_t first = repeat * static_cast<std::uint64_t>(wire.depth);
  for (int i = 0; i < wire.depth; ++i) {
    const int code = begin(slots.at(first + static_cast<std::uint64_t>(i)), at + i);
    if (code != 0) return code;
  }
  return 0;
}

int begin_sends(CallArguments& wire, std::uint64_t repeat, int at) noexcept {
  return begin_all(wire, wire.out, repeat, at, [&](const std::byte* from, int request) {
    return wire.mpi->begin_send(from, wire.bytes, wire.peer, wire.tags.message, wire.communicator,
                                wire.requests, request);
  });
}

int begin_receives(CallArguments& wire, std::uint64_t repeat, int at) noexcept {
  return begin_all(wire, wire.in, repeat, at, [&](std::byte* to, int request) {
    return wire.mpi->begin_receive(to, wire.bytes, wire.peer, wire.tags.message, wire.communicator,
                                   wire.requests, request);
  });
}

int exchange_windows(CallArguments& wire, std::uint64_t repeat, WaitFirst order) noexcept {
  const MpiFunctions& mpi = *wire.mpi;
  if (const int code = begin_receives(wire, repeat, 0); code != 0) return code;
  if (const int code = begin_sends(wire, repeat, wire.depth); code != 0) return code;
  const int first = order == WaitFirst::sends ? wire.depth : 0;
  if (const int code = mpi.wait_all(wire.depth, wire.requests, first); code != 0) return code;
  return mpi.wait_all(wire.depth, wire.requests, wire.depth - first);
}

/// Does `work` for each repeat, up to the first that fails.
template <class Work>
int each(std::uint64_t first, std::uint64_t repeats, const Work& work) noexcept {
  for (std::uint64_t repeat = first; repeat < first + repeats; ++repeat) {
    if (const int code = work(repeat); code != 0) return code;
  }
  return 0;
}

}  // namespace

int send_each(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = send_one(wire, repeat); code != 0) return code;
    return wire.mpi->receive(nullptr, 0, wire.peer, wire.tags.answer, wire.communicator);
  });
}

int receive_each(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = receive_one(wire, repeat); code != 0) return code;
    return wire.mpi->send(nullptr, 0, wire.peer, wire.tags.answer, wire.communicator);
  });
}

int send_window(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  std::array<std::byte, answer_bytes> answer{};
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_sends(wire, repeat, 0); code != 0) return code;
    if (const int code = wire.mpi->wait_all(wire.depth, wire.requests, 0); code != 0) return code;
    return wire.mpi->receive(answer.data(), answer_bytes, wire.peer, wire.tags.answer, wire.communicator);
  });
}

int receive_window(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  const std::array<std::byte, answer_bytes> answer{};
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_receives(wire, repeat, 0); code != 0) return code;
    if (const int code = wire.mpi->wait_all(wire.depth, wire.requests, 0); code != 0) return code;
    return wire.mpi->send(answer.data(), answer_bytes, wire.peer, wire.tags.answer, wire.communicator);
  });
}

int exchange_windows_first(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats,
              [&](std::uint64_t repeat) { return exchange_windows(wire, repeat, WaitFirst::sends); });
}

int exchange_windows_second(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats,
              [&](std::uint64_t repeat) { return exchange_windows(wire, repeat, WaitFirst::receives); });
}

int ping(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = send_one(wire, repeat);
    return code != 0 ? code : receive_one(wire, repeat);
  });
}

int pong(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = receive_one(wire, repeat);
    return code != 0 ? code : send_one(wire, repeat);
  });
}

int put_each(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = begin_all(wire, wire.out, repeat, 0, [&](const std::byte* from, int) {
      return wire.mpi->put(from, wire.bytes, wire.peer, from - wire.out.base, wire.window);
    });
    return code != 0 ? code : wire.mpi->flush(wire.peer, wire.window);
  });
}

int get_each(CallArguments& wire, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    const int code = begin_all(wire, wire.in, repeat, 0, [&](std::byte* to, int) {
      return wire.mpi->get(to, wire.bytes, wire.peer, to - wire.in.base, wire.window);
    });
    return code != 0 ? code : wire.mpi->flush(wire.peer, wire.window);
  });
}

}  // namespace linkscope::mpi
