#include "backend/mpi/end_transfer.hpp"

#include <exception>
#include <utility>

#include "base/steady_clock.hpp"

namespace linkscope::mpi {

namespace {

/// Messages on their way back hold another pattern: an end that got its own would be found out.
constexpr std::uint64_t way_back = 0x5851F42D4C957F2DULL;

std::uint64_t seed_of(std::uint64_t seed, Side sender) {
  return sender == Side::source ? seed : seed ^ way_back;
}

Side other(Side side) { return side == Side::source ? Side::destination : Side::source; }

std::byte* address_of(const Buffer* buffer) { return buffer == nullptr ? nullptr : buffer->data(); }

}  // namespace

EndTransfer::EndTransfer(MpiRuntime& session, const Flow& flow, End end)
    : MpiTransfer(session, end.caller),
      call_(&Call::of(flow)),
      end_(std::move(end)),
      unwinding_(std::uncaught_exceptions()) {
  own_facts().operations = operations_of(flow);
  wire_.mpi = &mpi();
  wire_.bytes = static_cast<std::int64_t>(flow.bytes);
  wire_.depth = window_of(flow);
  wire_.out_bounce = end_.out_bounce.get();
  wire_.in_bounce = end_.in_bounce.get();
  requests_.resize(2 * static_cast<std::size_t>(wire_.depth) * mpi().request_bytes);
  wire_.requests = requests_.data();
}

/// A window is withdrawn by all or none: where an error unwinds, the others may be gone, and it stays.
EndTransfer::~EndTransfer() {
  if (wire_.window == 0 || std::uncaught_exceptions() != unwinding_) return;
  session().in_its_thread([&] { mpi().withdraw(&wire_.window); });
}

void EndTransfer::connect(std::uint64_t slots, MpiHandle communicator, int peer, Tags tags) {
  const Arenas& arenas = end_.arenas;
  const Rotation rotation{arenas.rotation.stride, slots};
  wire_.communicator = communicator;
  wire_.peer = peer;
  wire_.tags = tags;
  wire_.out = {address_of(arenas.source), rotation.stride, slots};
  wire_.in = {address_of(arenas.destination), rotation.stride, slots};
  if (wire_.bytes > 0) {
    const auto bytes = static_cast<Bytes>(wire_.bytes);
    out_.emplace(arenas.source, nullptr, bytes, rotation);
    in_.emplace(nullptr, arenas.destination, bytes, rotation);
  }
  if (call_->sides == Sides::two) return;
  std::byte* const base = end_.side == Side::source ? wire_.out.base : wire_.in.base;
  const auto extent = static_cast<std::int64_t>(rotation.stride * slots);
  session().in_its_thread(
      [&] { session().check(mpi().expose(base, extent, communicator, &wire_.window), "MPI_Win_create"); });
}

void EndTransfer::arm(std::uint64_t seed) {
  restart();
  if (!out_) return;
  out_->arm(seed_of(seed, end_.side));
  in_->arm(seed_of(seed, other(end_.side)));
}

std::optional<Mismatch> EndTransfer::verify(std::uint64_t seed) const {
  return in_ ? in_->verify(seed_of(seed, other(end_.side)), messages()) : std::nullopt;
}

Bytes EndTransfer::verified_bytes() const { return in_ ? in_->verified_bytes(messages()) : 0; }

void EndTransfer::flush() {
  if (!out_) return;
  out_->flush();
  in_->flush();
}

std::optional<Span> EndTransfer::carry_out(std::uint64_t first, std::uint64_t repeats) noexcept {
  if (barrier_failed()) return std::nullopt;
  const std::optional<Span> span =
      call_->sides == Sides::two ? timed_loop(first, repeats) : one_sided(first, repeats);
  // Neither leaves MPI before the other has all: many an MPI moves what it has taken on, and serves others' puts and
  // gets, only while it is called.
  if (!span || barrier_failed()) return std::nullopt;
  return span;
}

bool EndTransfer::barrier_failed() noexcept {
  return failed(mpi().meet(wire_.peer, wire_.tags.barrier, wire_.communicator), "MPI_Sendrecv");
}

/// On Clock::host each repeat has stamps of its own, as in OSU 7's loops: what they cost is seen in messages of 100 ns.
/// The other clocks have one pair for all repeats, as older OSU had.
std::optional<Span> EndTransfer::timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept {
  const Exchange exchange = end_.side == Side::source ? call_->at_source : call_->at_destination;
  const std::uint64_t at_a_time = clock() == Clock::host ? 1 : repeats;
  const Seconds start = steady_seconds();
  Seconds sum = 0;
  int code = 0;
  for (std::uint64_t done = 0; done < repeats && code == 0; done += at_a_time) {
    const Seconds before = steady_seconds();
    code = exchange(wire_, first + done, at_a_time);
    sum += steady_seconds() - before;
  }
  if (code == bounce_failed ? runtime_failed(wire_.bounce_code) : failed(code, call_->made_of))
    return std::nullopt;
  return Span{start, start + sum, start + sum};
}

/// Locks the other's memory for all repeats, outside the time.
std::optional<Span> EndTransfer::one_sided(std::uint64_t first, std::uint64_t repeats) noexcept {
  const Side driver = call_->timed_at == TimedAt::source ? Side::source : Side::destination;
  if (end_.side != driver) {
    const Seconds moment = steady_seconds();
    return Span{moment, moment, moment};
  }
  if (failed(mpi().lock(wire_.peer, wire_.window), "MPI_Win_lock")) return std::nullopt;
  if (failed(mpi().flush(wire_.peer, wire_.window), "MPI_Win_flush")) return std::nullopt;
  const std::optional<Span> span = timed_loop(first, repeats);
  if (failed(mpi().unlock(wire_.peer, wire_.window), "MPI_Win_unlock")) return std::nullopt;
  return span;
}

std::vector<std::string> EndTransfer::notes() const {
  std::vector<std::string> notes = MpiTransfer::notes();
  if (call_->operations == Operations::both_windows) {
    notes.push_back("both directions together: " + std::to_string(wire_.depth) +
                    " messages under way each way, the figure is the sum of the two");
  }
  const auto add = [&](const char* end, const Buffer* buffer) {
    const std::string found = buffer == nullptr ? "" : buffer->residence();
    if (!found.empty()) notes.push_back(end + found);
  };
  add("source: ", end_.arenas.source);
  add("destination: ", end_.arenas.destination);
  return notes;
}

}  // namespace linkscope::mpi
