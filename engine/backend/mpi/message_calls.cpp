#include "backend/mpi/message_calls.hpp"

#include <array>

namespace linkscope::mpi {

namespace {

constexpr std::int64_t answer_bytes = 4;
enum class WaitFirst { sends, receives };

/// What MPI is given in place of the slot at `at`, filled from it.
int loaded(CallArguments& arguments, const std::byte*& at) noexcept {
  if (arguments.out_bounce == nullptr) return 0;
  arguments.bounce_code = arguments.out_bounce->load(at, static_cast<Bytes>(arguments.bytes));
  at = arguments.out_bounce->data();
  return arguments.bounce_code == 0 ? 0 : bounce_failed;
}

int send_one(CallArguments& arguments, std::uint64_t index) noexcept {
  const std::byte* at = arguments.out.at(index);
  if (const int code = loaded(arguments, at); code != 0) return code;
  return arguments.mpi->send(at, arguments.bytes, arguments.peer, arguments.tags.message,
                             arguments.communicator);
}

int receive_one(CallArguments& arguments, std::uint64_t index) noexcept {
  std::byte* const slot = arguments.in.at(index);
  std::byte* const at = arguments.in_bounce == nullptr ? slot : arguments.in_bounce->data();
  const int code = arguments.mpi->receive(at, arguments.bytes, arguments.peer, arguments.tags.message,
                                          arguments.communicator);
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

int exchange_windows(CallArguments& arguments, std::uint64_t repeat, WaitFirst order) noexcept {
  const MpiFunctions& mpi = *arguments.mpi;
  if (const int code = begin_receives(arguments, repeat, 0); code != 0) return code;
  if (const int code = begin_sends(arguments, repeat, arguments.depth); code != 0) return code;
  const int first = order == WaitFirst::sends ? arguments.depth : 0;
  if (const int code = mpi.wait_all(arguments.depth, arguments.requests, first); code != 0) return code;
  return mpi.wait_all(arguments.depth, arguments.requests, arguments.depth - first);
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

int send_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = send_one(arguments, repeat); code != 0) return code;
    return arguments.mpi->receive(nullptr, 0, arguments.peer, arguments.tags.answer, arguments.communicator);
  });
}

int receive_each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = receive_one(arguments, repeat); code != 0) return code;
    return arguments.mpi->send(nullptr, 0, arguments.peer, arguments.tags.answer, arguments.communicator);
  });
}

int send_window(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  std::array<std::byte, answer_bytes> answer{};
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_sends(arguments, repeat, 0); code != 0) return code;
    if (const int code = arguments.mpi->wait_all(arguments.depth, arguments.requests, 0); code != 0)
      return code;
    return arguments.mpi->receive(answer.data(), answer_bytes, arguments.peer, arguments.tags.answer,
                                  arguments.communicator);
  });
}

int receive_window(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  const std::array<std::byte, answer_bytes> answer{};
  return each(first, repeats, [&](std::uint64_t repeat) {
    if (const int code = begin_receives(arguments, repeat, 0); code != 0) return code;
    if (const int code = arguments.mpi->wait_all(arguments.depth, arguments.requests, 0); code != 0)
      return code;
    return arguments.mpi->send(answer.data(), answer_bytes, arguments.peer, arguments.tags.answer,
                               arguments.communicator);
  });
}

int exchange_windows_first(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats,
              [&](std::uint64_t repeat) { return exchange_windows(arguments, repeat, WaitFirst::sends); });
}

int exchange_windows_second(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  return each(first, repeats,
              [&](std::uint64_t repeat) { return exchange_windows(arguments, repeat, WaitFirst::receives); });
}

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

}  // namespace linkscope::mpi
