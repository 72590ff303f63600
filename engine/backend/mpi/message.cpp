#include "backend/mpi/message.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::mpi {

namespace {

constexpr std::size_t source_part = 0;

/// What we do ourselves with a GPU's memory before MPI sees it; what the library then does is its own affair.
enum class Staged { nowhere, through_host };

Staged staging_of(const Flow& flow) {
  const std::string word = flow.parameters.word("staging", "none");
  if (word == "none") return Staged::nowhere;
  if (word == "host") return Staged::through_host;
  throw Error(Fault::bad_input, "parameter staging: '" + word + "' is neither none nor host");
}

Support staging_supported(const Flow& flow, const GpuRuntime* gpus) {
  if (staging_of(flow) == Staged::nowhere) return Support::yes();
  if (!on_gpu(*flow.source) && !on_gpu(*flow.destination))
    return Support::no("staging through the host is for a GPU's memory");
  const Call& call = Call::of(flow);
  if (call.keeps_many_under_way() || call.sides == Sides::one)
    return Support::no("staging through the host is one copy at a time: call send or ping-pong");
  if (gpus == nullptr) return Support::no("this engine has no GPU to copy from");
  return Support::yes();
}

/// Both ends' ranks in MPI's world; this process's end, if it has one.
class MpiMessageParts final : public PreparedParts {
 public:
  MpiMessageParts(MpiRuntime& runtime, const Flow& flow, std::unique_ptr<EndTransfer> end,
                  std::uint64_t slots)
      : runtime_(&runtime),
        ranks_{flow.source->rank, flow.destination->rank},
        sides_(Call::of(flow).sides),
        end_(std::move(end)),
        slots_(slots) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    return end_ ? std::vector<Transfer*>{end_.get()} : std::vector<Transfer*>{};
  }
  [[nodiscard]] std::string export_handles() override {
    return RankEntry{runtime_->rank(), runtime_->size(), slots_}.told();
  }
  void import_handles(const std::vector<std::string>& exports) override;
  void finish() override {
    if (end_) end_->withdraw();
  }

 private:
  MpiRuntime* runtime_;
  std::vector<int> ranks_;
  Sides sides_;
  std::unique_ptr<EndTransfer> end_;
  std::uint64_t slots_;
};

void MpiMessageParts::import_handles(const std::vector<std::string>& exports) {
  const std::uint64_t slots = require_one_world(exports);
  // A window is made by all of its communicator: the two ends need one of their own, which all processes help to make.
  const MpiHandle communicator = sides_ == Sides::one ? runtime_->communicator(ranks_) : runtime_->world();
  const Tags tags = runtime_->tags();
  if (!end_) return;
  const bool at_source = runtime_->rank() == ranks_.front();
  const int peer_place = at_source ? 1 : 0;
  const int peer = sides_ == Sides::one ? peer_place : ranks_[static_cast<std::size_t>(peer_place)];
  end_->connect(slots, communicator, peer, tags);
}

}  // namespace

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

Quantity MpiMessage::quantity_of(const Flow& flow) const { return Call::of(flow).quantity; }

std::map<std::string, std::string> MpiMessage::parameters() const {
  return {
      {"call",
       "send (default: blocking, each answered by an empty message, so the time is until arrival); window "
       "(many under way, then an answer, as osu_bw); both-ways (the same in both directions at once, as "
       "osu_bibw: the figure is their sum); ping-pong (half of a round trip, as osu_latency); put, get "
       "(one-sided, each flushed, as osu_put_latency); put-window, get-window (many, then a flush, as "
       "osu_put_bw)"},
      {"window", "messages in flight, for the window calls; default 64"},
      {"staging",
       "for GPU memory: none (default: MPI gets the GPU's address) or host (linkscope copies the whole "
       "message "
       "through pinned host memory)"}};
}

Support MpiMessage::supports(const Flow& flow) const {
  if (!flow.source || !flow.destination) return Support::no("mpi needs a source and a destination");
  if (flow.source->rank == flow.destination->rank)
    return Support::no("mpi moves data between processes, and both ends are in one");
  static_cast<void>(window_of(flow));
  return staging_supported(flow, context().gpus());
}

std::vector<FlowPart> MpiMessage::parts(const Flow& flow) const {
  const Call& call = Call::of(flow);
  const bool both = call.directions == Directions::both;
  const auto timing = [&](TimedAt at) { return call.timed_at == at ? Timing::timed : Timing::untimed; };
  FlowPart from{flow.source->rank, flow.source->device, flow.source, std::nullopt, timing(TimedAt::source)};
  FlowPart to{flow.destination->rank, flow.destination->device, std::nullopt, flow.destination,
              timing(TimedAt::destination)};
  if (both) {
    from.destination = flow.source;
    to.source = flow.destination;
  }
  return {std::move(from), std::move(to)};
}

std::unique_ptr<PreparedParts> MpiMessage::assemble(const Flow& flow,
                                                    const std::vector<LocalPart>& own) const {
  if (own.empty()) return std::make_unique<MpiMessageParts>(context().library().runtime(), flow, nullptr, 0);
  const LocalPart& part = own.front();
  const Side side = part.index == source_part ? Side::source : Side::destination;
  const Endpoint& where = side == Side::source ? *flow.source : *flow.destination;
  MpiRuntime& runtime = context().runtime(where.device);
  const std::int64_t most = runtime.functions().most_elements;
  if (std::cmp_greater(flow.bytes, most)) {
    throw Error(Fault::unsupported, runtime.version() + " sends no more than " + std::to_string(most) +
                                        " B at a time: that takes MPI 4");
  }
  End end{side, context().caller(where.device), part.arenas, nullptr, nullptr};
  if (staging_of(flow) == Staged::nowhere) {
    context().require_taken(where);
  } else if (on_gpu(where)) {
    end.caller.hands_over = false;
    if (part.arenas.source != nullptr && flow.bytes > 0)
      end.out_bounce = context().gpus()->bounce(where, flow.bytes);
    if (part.arenas.destination != nullptr && flow.bytes > 0)
      end.in_bounce = context().gpus()->bounce(where, flow.bytes);
  }
  auto transfer = std::make_unique<EndTransfer>(runtime, flow, std::move(end));
  return std::make_unique<MpiMessageParts>(runtime, flow, std::move(transfer), part.arenas.rotation.slots);
}

Bytes MpiMessage::rotation_bytes(const Flow& flow) const {
  return context().rotation_bytes({flow.source->device, flow.destination->device});
}

}  // namespace linkscope::mpi
