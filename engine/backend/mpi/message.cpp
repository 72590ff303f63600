// mpi: messages between two processes, and the calls of MPI that each of the two ends makes.
#include "backend/mpi/methods.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::mpi {

namespace {

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

/// Does `one` for each repeat, up to the first that fails.
template <int (*one)(CallArguments& arguments, std::uint64_t repeat) noexcept>
int each(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats) noexcept {
  for (std::uint64_t repeat = first; repeat < first + repeats; ++repeat) {
    if (const int code = one(arguments, repeat); code != 0) return code;
  }
  return 0;
}

/// Blocking sends, each acknowledged by an empty message: the time is until arrival.
int send(CallArguments& arguments, std::uint64_t repeat) noexcept {
  if (const int code = send_one(arguments, repeat); code != 0) return code;
  return arguments.receive(nullptr, 0, arguments.tags.answer);
}

int receive(CallArguments& arguments, std::uint64_t repeat) noexcept {
  if (const int code = receive_one(arguments, repeat); code != 0) return code;
  return arguments.send(nullptr, 0, arguments.tags.answer);
}

/// `depth` messages under way, then an answer of 4 bytes, as osu_bw.
int send_window(CallArguments& arguments, std::uint64_t repeat) noexcept {
  if (const int code = begin_sends(arguments, repeat, 0); code != 0) return code;
  if (const int code = arguments.wait(0); code != 0) return code;
  return arguments.receive(arguments.answer.data(), answer_bytes, arguments.tags.answer);
}

int receive_window(CallArguments& arguments, std::uint64_t repeat) noexcept {
  if (const int code = begin_receives(arguments, repeat, 0); code != 0) return code;
  if (const int code = arguments.wait(0); code != 0) return code;
  return arguments.send(arguments.answer.data(), answer_bytes, arguments.tags.answer);
}

/// `depth` messages under way in each direction, as osu_bibw. The first end waits for what it sends before what it
/// gets, the second the other way round.
template <WaitFirst order>
int exchange_windows(CallArguments& arguments, std::uint64_t repeat) noexcept {
  if (const int code = begin_receives(arguments, repeat, 0); code != 0) return code;
  if (const int code = begin_sends(arguments, repeat, arguments.depth); code != 0) return code;
  const int waited_first = order == WaitFirst::sends ? arguments.depth : 0;
  if (const int code = arguments.wait(waited_first); code != 0) return code;
  return arguments.wait(arguments.depth - waited_first);
}

/// There and back, as osu_latency.
int ping(CallArguments& arguments, std::uint64_t repeat) noexcept {
  const int code = send_one(arguments, repeat);
  return code != 0 ? code : receive_one(arguments, repeat);
}

int pong(CallArguments& arguments, std::uint64_t repeat) noexcept {
  const int code = receive_one(arguments, repeat);
  return code != 0 ? code : send_one(arguments, repeat);
}

/// One-sided, `depth` at a time completed at both ends: one, as osu_put_latency and osu_get_latency with flush, or
/// many, as osu_put_bw and osu_get_bw.
int put(CallArguments& arguments, std::uint64_t repeat) noexcept {
  const int code = begin_all(arguments, arguments.out, repeat, 0, [&](const std::byte* from, int) {
    return arguments.mpi->put(from, arguments.bytes, arguments.peer, from - arguments.out.base,
                              arguments.window);
  });
  return code != 0 ? code : arguments.mpi->flush(arguments.peer, arguments.window);
}

int get(CallArguments& arguments, std::uint64_t repeat) noexcept {
  const int code = begin_all(arguments, arguments.in, repeat, 0, [&](std::byte* to, int) {
    return arguments.mpi->get(to, arguments.bytes, arguments.peer, to - arguments.in.base, arguments.window);
  });
  return code != 0 ? code : arguments.mpi->flush(arguments.peer, arguments.window);
}

// The calls are in the order of call_parameter's words.
constexpr std::array<Call, 8> calls{{
    {.made_of = "MPI_Send, MPI_Recv", .at_source = each<send>, .at_destination = each<receive>},
    {.made_of = "MPI_Isend, MPI_Irecv, MPI_Waitall",
     .many = true,
     .at_source = each<send_window>,
     .at_destination = each<receive_window>},
    {.made_of = "MPI_Isend, MPI_Irecv, MPI_Waitall",
     .both_ways = true,
     .many = true,
     .at_source = each<exchange_windows<WaitFirst::sends>>,
     .at_destination = each<exchange_windows<WaitFirst::receives>>},
    {.made_of = "MPI_Send, MPI_Recv",
     .quantity = Quantity::latency,
     .both_ways = true,
     .at_source = each<ping>,
     .at_destination = each<pong>},
    {.made_of = "MPI_Put, MPI_Win_flush", .quantity = Quantity::latency, .at_source = each<put>},
    {.made_of = "MPI_Get, MPI_Win_flush", .quantity = Quantity::latency, .at_destination = each<get>},
    {.made_of = "MPI_Put, MPI_Win_flush", .many = true, .at_source = each<put>},
    {.made_of = "MPI_Get, MPI_Win_flush", .many = true, .at_destination = each<get>},
}};

/// Copies of a GPU's memory that linkscope makes itself before MPI sees it; the library may make others.
enum class Staged { nowhere, through_host };

constexpr Parameter staging_parameter = word("staging", "none|host",
                                             "for GPU memory: none: MPI gets the GPU's address; host: "
                                             "linkscope copies the whole message through pinned host "
                                             "memory");

Support supports_message(const Flow& flow, const GpuRuntime* gpus) {
  if (!flow.source || !flow.destination) return Support::no("mpi needs a source and a destination");
  if (flow.source->rank == flow.destination->rank)
    return Support::no("mpi moves data between processes, and both ends are in one");
  if (flow.parameters.choice<Staged>(staging_parameter) == Staged::nowhere) return Support::yes();
  if (!on_gpu(*flow.source) && !on_gpu(*flow.destination))
    return Support::no("staging through the host is for a GPU's memory");
  const Call& call = Call::of(flow);
  if (call.many || call.one_sided())
    return Support::no("staging through the host is one copy at a time: call send or ping-pong");
  if (gpus == nullptr) return Support::no("this engine has no GPU to copy from");
  return Support::yes();
}

/// This process's end of a message; null where it has none.
std::unique_ptr<EndTransfer> own_end(MpiContext& context, const Flow& flow,
                                     const std::vector<LocalPart>& own) {
  if (own.empty()) return nullptr;
  const LocalPart& part = own.front();
  const Side side = part.index == 0 ? Side::source : Side::destination;
  const Endpoint& where = side == Side::source ? *flow.source : *flow.destination;
  MpiRuntime& runtime = context.runtime(where.device);
  const std::int64_t most = runtime.functions().most_elements;
  if (std::cmp_greater(flow.bytes, most)) {
    throw Error(Fault::unsupported, runtime.version() + " sends no more than " + std::to_string(most) +
                                        " B at a time: that takes MPI 4");
  }
  End end{side, context.caller(where.device), part.arenas, nullptr, nullptr};
  if (flow.parameters.choice<Staged>(staging_parameter) == Staged::nowhere) {
    context.require_taken(where);
  } else if (on_gpu(where)) {
    end.caller.hands_over = false;
    if (part.arenas.source != nullptr && flow.bytes > 0)
      end.out_bounce = context.gpus()->bounce(where, flow.bytes);
    if (part.arenas.destination != nullptr && flow.bytes > 0)
      end.in_bounce = context.gpus()->bounce(where, flow.bytes);
  }
  return std::make_unique<EndTransfer>(runtime, flow, std::move(end));
}

std::unique_ptr<PreparedParts> assemble_message(MpiContext& context, const Flow& flow,
                                                const std::vector<LocalPart>& own) {
  std::unique_ptr<EndTransfer> end = own_end(context, flow, own);
  MpiRuntime& runtime = context.library().runtime();
  const std::vector<int> ranks{flow.source->rank, flow.destination->rank};
  const bool one_sided = Call::of(flow).one_sided();
  const auto connect = [&runtime, ranks, one_sided, at = end.get()](std::uint64_t slots) {
    // A window is made by all of its communicator: the two ends need one of their own, which all processes help to
    // make.
    const MpiHandle communicator = one_sided ? runtime.communicator(ranks) : runtime.world();
    const Tags tags = runtime.tags();
    if (at == nullptr) return;
    const int peer_place = runtime.rank() == ranks.front() ? 1 : 0;
    const int peer = one_sided ? peer_place : ranks[static_cast<std::size_t>(peer_place)];
    at->connect(slots, communicator, peer, tags);
  };
  const std::uint64_t slots = own.empty() ? 0 : own.front().arenas.rotation.slots;
  const auto take_back = [at = end.get()] {
    if (at != nullptr) at->finish();
  };
  return prepared(runtime, std::move(end), slots, connect, take_back);
}

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

EndTransfer::EndTransfer(MpiRuntime& runtime, const Flow& flow, End end)
    : MpiTransfer(runtime, end.caller), call_(&Call::of(flow)), end_(std::move(end)) {
  own_facts().operations = operations_of(flow);
  arguments_.mpi = &mpi();
  arguments_.bytes = static_cast<std::int64_t>(flow.bytes);
  arguments_.depth = window_of(flow);
  arguments_.out_bounce = end_.out_bounce.get();
  arguments_.in_bounce = end_.in_bounce.get();
  requests_.resize(2 * static_cast<std::size_t>(arguments_.depth) * mpi().request_bytes);
  arguments_.requests = requests_.data();
}

void EndTransfer::finish() {
  if (arguments_.window == 0) return;
  runtime().in_its_thread([&] { runtime().check(mpi().withdraw(&arguments_.window), "MPI_Win_free"); });
}

void EndTransfer::connect(std::uint64_t slots, MpiHandle communicator, int peer, Tags tags) {
  const Arenas& arenas = end_.arenas;
  const Rotation rotation{arenas.rotation.stride, slots};
  arguments_.communicator = communicator;
  arguments_.peer = peer;
  arguments_.tags = tags;
  arguments_.out = {address_of(arenas.source), rotation.stride, slots};
  arguments_.in = {address_of(arenas.destination), rotation.stride, slots};
  if (arguments_.bytes > 0)
    set_check(std::make_unique<MessageCheck>(end_.side, arenas, static_cast<Bytes>(arguments_.bytes),
                                             rotation, static_cast<std::uint64_t>(arguments_.depth)));
  if (!call_->one_sided()) return;
  std::byte* const base = end_.side == Side::source ? arguments_.out.base : arguments_.in.base;
  const auto extent = static_cast<std::int64_t>(rotation.stride * slots);
  runtime().in_its_thread([&] {
    runtime().check(mpi().expose(base, extent, communicator, &arguments_.window), "MPI_Win_create");
  });
}

std::optional<Span> EndTransfer::make_calls(std::uint64_t first, std::uint64_t repeats) noexcept {
  const auto barrier_failed = [this] {
    return failed(mpi().meet(arguments_.peer, arguments_.tags.barrier, arguments_.communicator),
                  "MPI_Sendrecv");
  };
  if (barrier_failed()) return std::nullopt;
  const std::optional<Span> span =
      call_->one_sided() ? one_sided(first, repeats) : timed_loop(first, repeats);
  // Neither leaves MPI before the other has all: many an MPI moves what it has taken on, and serves others' puts and
  // gets, only while it is called.
  if (!span || barrier_failed()) return std::nullopt;
  return span;
}

std::optional<Span> EndTransfer::timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept {
  const MessageLoop loop = end_.side == Side::source ? call_->at_source : call_->at_destination;
  return stamped(first, repeats, [&](std::uint64_t from, std::uint64_t count) noexcept {
    const int code = loop(arguments_, from, count);
    return !(code == bounce_failed ? gpu_failed(arguments_.bounce_code) : failed(code, call_->made_of));
  });
}

/// Locks the other's memory for all repeats, outside the time.
std::optional<Span> EndTransfer::one_sided(std::uint64_t first, std::uint64_t repeats) noexcept {
  if (end_.side != call_->timed_side()) {
    const Seconds moment = steady_seconds();
    return Span{moment, moment, moment};
  }
  if (failed(mpi().lock(arguments_.peer, arguments_.window), "MPI_Win_lock")) return std::nullopt;
  if (failed(mpi().flush(arguments_.peer, arguments_.window), "MPI_Win_flush")) return std::nullopt;
  const std::optional<Span> span = timed_loop(first, repeats);
  if (failed(mpi().unlock(arguments_.peer, arguments_.window), "MPI_Win_unlock")) return std::nullopt;
  return span;
}

std::vector<std::string> EndTransfer::notes() const {
  std::vector<std::string> notes = MpiTransfer::notes();
  if (call_->both_ways && call_->many) {
    notes.push_back("both directions together: " + std::to_string(arguments_.depth) +
                    " messages under way each way; the result is the sum of both");
  }
  std::ranges::move(end_.arenas.residences(), std::back_inserter(notes));
  return notes;
}

Method mpi_message(const std::shared_ptr<MpiContext>& context) {
  return {.spec = {"mpi", "messages between two processes by MPI, loaded at run time", Quantity::bandwidth,
                   mpi_traits},
          .parameters = {call_parameter, window_parameter, staging_parameter},
          .available = [context] { return context->library().available(); },
          .supports = [context](const Flow& flow) { return supports_message(flow, context->gpus()); },
          .quantity_of = [](const Flow& flow) { return Call::of(flow).quantity; },
          .rotation_bytes =
              [context](const Flow& flow) {
                return context->rotation_bytes({flow.source->device, flow.destination->device});
              },
          .parts =
              [](const Flow& flow) {
                const Call& call = Call::of(flow);
                return message_parts(flow, call.both_ways, call.timed_side());
              },
          .assemble =
              [context](const Flow& flow, const std::vector<LocalPart>& own) {
                return assemble_message(*context, flow, own);
              }};
}

}  // namespace linkscope::mpi
