#include "backend/mpi/end_transfer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/steady_clock.hpp"

namespace linkscope::mpi {

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

void EndTransfer::withdraw() {
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
  if (arguments_.bytes > 0) check_.emplace(end_.side, arenas, static_cast<Bytes>(arguments_.bytes), rotation);
  if (call_->sides == Sides::two) return;
  std::byte* const base = end_.side == Side::source ? arguments_.out.base : arguments_.in.base;
  const auto extent = static_cast<std::int64_t>(rotation.stride * slots);
  runtime().in_its_thread([&] {
    runtime().check(mpi().expose(base, extent, communicator, &arguments_.window), "MPI_Win_create");
  });
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
  return failed(mpi().meet(arguments_.peer, arguments_.tags.barrier, arguments_.communicator),
                "MPI_Sendrecv");
}

std::optional<Span> EndTransfer::timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept {
  const Exchange exchange = end_.side == Side::source ? call_->at_source : call_->at_destination;
  return stamped(first, repeats, [&](std::uint64_t from, std::uint64_t count) noexcept {
    const int code = exchange(arguments_, from, count);
    return !(code == bounce_failed ? gpu_failed(arguments_.bounce_code) : failed(code, call_->made_of));
  });
}

/// Locks the other's memory for all repeats, outside the time.
std::optional<Span> EndTransfer::one_sided(std::uint64_t first, std::uint64_t repeats) noexcept {
  const Side driver = call_->timed_at == TimedAt::source ? Side::source : Side::destination;
  if (end_.side != driver) {
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
  if (call_->operations == Operations::both_windows) {
    notes.push_back("both directions together: " + std::to_string(arguments_.depth) +
                    " messages under way each way, the figure is the sum of the two");
  }
  std::ranges::move(end_.arenas.residences(), std::back_inserter(notes));
  return notes;
}

}  // namespace linkscope::mpi
