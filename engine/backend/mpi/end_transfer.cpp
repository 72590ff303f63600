#include "backend/mpi/end_transfer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/steady_clock.hpp"

namespace linkscope::mpi {

EndTransfer::EndTransfer(MpiRuntime& session, const Flow& flow, End end)
    : MpiTransfer(session, end.caller),
      call_(&Call::of(flow)),
      end_(std::move(end)) {
  own_facts().operations = operations_of(flow);
  wire_.mpi = &mpi();
  wire_.bytes = static_cast<std::int64_t>(flow.bytes);
  wire_.depth = window_of(flow);
  wire_.out_bounce = end_.out_bounce.get();
  wire_.in_bounce = end_.in_bounce.get();
  requests_.resize(2 * static_cast<std::size_t>(wire_.depth) * mpi().request_bytes);
  wire_.requests = requests_.data();
}

void EndTransfer::withdraw() {
  if (wire_.window == 0) return;
  session().in_its_thread([&] { session().check(mpi().withdraw(&wire_.window), "MPI_Win_free"); });
}

void EndTransfer::connect(std::uint64_t slots, MpiHandle communicator, int peer, Tags tags) {
  const Arenas& arenas = end_.arenas;
  const Rotation rotation{arenas.rotation.stride, slots};
  wire_.communicator = communicator;
  wire_.peer = peer;
  wire_.tags = tags;
  wire_.out = {address_of(arenas.source), rotation.stride, slots};
  wire_.in = {address_of(arenas.destination), rotation.stride, slots};
  if (wire_.bytes > 0) check_.emplace(end_.side, arenas, static_cast<Bytes>(wire_.bytes), rotation);
  if (call_->sides == Sides::two) return;
  std::byte* const base = end_.side == Side::source ? wire_.out.base : wire_.in.base;
  const auto extent = static_cast<std::int64_t>(rotation.stride * slots);
  session().in_its_thread(
      [&] { session().check(mpi().expose(base, extent, communicator, &wire_.window), "MPI_Win_create"); });
}

void EndTransfer::arm(std::uint64_t seed) {
  restart();
  if (check_) check_->arm(seed);
}

std::optional<Mismatch> EndTransfer::verify(std::uint64_t seed) const {
  return check_ ? check_->verify(seed, messages()) : std::nullopt;
}

Bytes EndTransfer::verified_bytes() const { return check_ ? check_->verified_bytes(messages()) : 0; }

void EndTransfer::flush() {
  if (check_) check_->flush();
}

std::optional<Span> EndTransfer::make_calls(std::uint64_t first, std::uint64_t repeats) noexcept {
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

std::optional<Span> EndTransfer::timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept {
  const Exchange exchange = end_.side == Side::source ? call_->at_source : call_->at_destination;
  return stamped(first, repeats, [&](std::uint64_t from, std::uint64_t count) noexcept {
    const int code = exchange(wire_, from, count);
    return !(code == bounce_failed ? runtime_failed(wire_.bounce_code) : failed(code, call_->made_of));
  });
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
  std::ranges::move(end_.arenas.residences(), std::back_inserter(notes));
  return notes;
}

}  // namespace linkscope::mpi
