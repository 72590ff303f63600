// mpi-collective: MPI's collectives, one process for each member.
#include "backend/mpi/methods.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "model/collective.hpp"

namespace linkscope::mpi {

namespace {

using Kind = CollectiveKind;

/// element_type, with what else is to be said of it.
constexpr Parameter mpi_element_type =
    word(element_type.name, element_type.words,
         "of the elements; sums of 16-bit types need an MPI whose mpi.h has them");

bool adds_up(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

/// Elements that move without being added up need no type of their own.
MpiElement element_of(const CollectiveShape& shape) {
  constexpr std::array in_sums{element_float32, element_float16, element_bfloat16, element_int32};
  constexpr std::array moved{element_float32, element_uint16, element_uint16, element_int32};
  return (adds_up(shape.kind) ? in_sums : moved).at(static_cast<std::size_t>(shape.type));
}

/// Elements of one member's block where the collective goes by blocks, else of the whole.
std::int64_t count_of(const CollectiveShape& shape) {
  const bool by_blocks =
      shape.kind == Kind::reduce_scatter || shape.kind == Kind::all_gather || shape.kind == Kind::all_to_all;
  const Bytes bytes = by_blocks ? shape.bytes / static_cast<Bytes>(shape.members) : shape.bytes;
  return static_cast<std::int64_t>(bytes / shape.element_bytes());
}

/// The call, for messages.
const char* called(Kind kind) {
  constexpr std::array calls{"MPI_Allreduce", "MPI_Reduce",   "MPI_Bcast",  "MPI_Reduce_scatter_block",
                             "MPI_Allgather", "MPI_Alltoall", "MPI_Barrier"};
  return calls[static_cast<std::size_t>(kind)];
}

/// Says, after MPI's name, why it does not add up elements of `type`; empty where it does.
std::string problem_of(MpiSum sum, MpiHeader header, const std::string& type) {
  switch (sum) {
    case sum_right:
      return "";
    case sum_unnamed:
      return header == header_of_site
                 ? ": its mpi.h has no " + type
                 : ": the standard ABI has no " + type +
                       "; its own mpi.h may: build linkscope with its mpicc, as by `MPICC=PATH make setup`";
    case sum_refused:
      return " has no sum of " + type + " elements";
    case sum_wrong:
      return " adds up " + type + " elements wrongly: 1 and 1 are not 2";
  }
  return "";
}

Slots slots_of(const Buffer* buffer, Bytes stride, std::uint64_t count) {
  return {buffer == nullptr ? nullptr : buffer->data(), buffer == nullptr ? 0 : stride, count};
}

Support supports_members(const Flow& flow) {
  static_cast<void>(CollectiveShape::of(flow));
  if (!in_own_processes(flow)) return Support::no("mpi-collective has one member in each process");
  return Support::yes();
}

std::vector<FlowPart> member_parts(const Flow& flow) {
  std::vector<FlowPart> parts = collective_parts(flow);
  // MPI_Bcast has one buffer: out of place, the root's output is nowhere.
  if (CollectiveShape::of(flow).kind == CollectiveKind::broadcast && parts.front().source)
    parts.front().destination.reset();
  return parts;
}

/// This process's member; null where it has none.
std::unique_ptr<MpiCollectiveTransfer> own_member(MpiContext& context, const Flow& flow,
                                                  const std::vector<LocalPart>& own) {
  if (own.empty()) return nullptr;
  const LocalPart& part = own.front();
  const Endpoint& where = flow.members.at(part.index);
  MpiRuntime& runtime = context.runtime(where.device);
  context.require_taken(where);
  const MpiMember member{static_cast<int>(part.index), context.caller(where.device), part.arenas};
  return std::make_unique<MpiCollectiveTransfer>(runtime, CollectiveShape::of(flow), member);
}

std::unique_ptr<PreparedParts> assemble_members(MpiContext& context, const Flow& flow,
                                                const std::vector<LocalPart>& own) {
  std::unique_ptr<MpiCollectiveTransfer> member = own_member(context, flow, own);
  MpiRuntime& runtime = context.library().runtime();
  const auto connect = [&runtime, ranks = ranks_of(flow), at = member.get(),
                        held = std::shared_ptr<void>()](std::uint64_t slots) mutable {
    held = runtime.hold(ranks);  // as long as these parts live
    const MpiHandle communicator = runtime.communicator(ranks);
    if (at != nullptr) at->connect(slots, communicator);
  };
  const std::uint64_t slots = own.empty() ? 0 : own.front().arenas.rotation.slots;
  return prepared(runtime, std::move(member), slots, connect);
}

}  // namespace

MpiCollectiveTransfer::MpiCollectiveTransfer(MpiRuntime& runtime, const CollectiveShape& shape,
                                             const MpiMember& member)
    : MpiTransfer(runtime, member.caller),
      shape_(shape),
      member_(member),
      type_(element_of(shape)),
      count_(count_of(shape)) {
  shape.state_in(own_facts());
  if (count_ > mpi().most_elements) {
    throw Error(Fault::unsupported, runtime.version() + " takes no more than " +
                                        std::to_string(mpi().most_elements) +
                                        " elements at a time: that takes MPI 4");
  }
  if (!adds_up(shape.kind)) return;
  MpiSum sum = sum_right;
  runtime.in_its_thread([&] { sum = mpi().try_sum(type_); });
  const std::string problem = problem_of(sum, mpi().header, std::string(name_of(shape.type)));
  if (!problem.empty()) throw Error(Fault::unsupported, runtime.version() + problem);
}

void MpiCollectiveTransfer::connect(std::uint64_t slots, MpiHandle communicator) {
  Arenas& arenas = member_.arenas;
  arenas.rotation.slots = slots;
  communicator_ = communicator;
  from_ = slots_of(arenas.source, arenas.rotation.stride, slots);
  to_ = slots_of(arenas.destination, arenas.rotation.stride, slots);
  set_check(std::make_unique<CollectiveCheck>(shape_, member_.index, arenas));
}

std::optional<Span> MpiCollectiveTransfer::make_calls(std::uint64_t first, std::uint64_t repeats) noexcept {
  if (failed(mpi().barrier(communicator_), "MPI_Barrier")) return std::nullopt;
  return clock() == Clock::host ? one_by_one(first, repeats) : in_a_row(first, repeats);
}

std::optional<Span> MpiCollectiveTransfer::one_by_one(std::uint64_t first, std::uint64_t repeats) noexcept {
  const bool barred = shape_.kind != Kind::barrier;  // those keep themselves apart
  const Seconds start = steady_seconds();
  Seconds sum = 0;
  Seconds end = start;
  for (std::uint64_t index = first; index < first + repeats; ++index) {
    const Seconds before = steady_seconds();
    const int code = call(index);
    end = steady_seconds();
    sum += end - before;
    if (failed(code, called(shape_.kind))) return std::nullopt;
    if (barred && failed(mpi().barrier(communicator_), "MPI_Barrier")) return std::nullopt;
  }
  return Span{start, end, end, end - start - sum};
}

std::optional<Span> MpiCollectiveTransfer::in_a_row(std::uint64_t first, std::uint64_t repeats) noexcept {
  const Seconds start = steady_seconds();
  for (std::uint64_t index = first; index < first + repeats; ++index) {
    if (failed(call(index), called(shape_.kind))) return std::nullopt;
  }
  const Seconds end = steady_seconds();
  // Nobody leaves MPI before all have their result: many an MPI moves what it has taken on only while it is called.
  if (failed(mpi().barrier(communicator_), "MPI_Barrier")) return std::nullopt;
  return Span{start, end, end};
}

int MpiCollectiveTransfer::call(std::uint64_t index) const noexcept {
  const std::byte* const from = from_.at(index);
  std::byte* const to = to_.at(index);
  switch (shape_.kind) {
    case Kind::all_reduce:
      return mpi().all_reduce(from, to, count_, type_, communicator_);
    case Kind::reduce:  // in place is the root's word alone: the others send from where they are
      return mpi().reduce(from == nullptr && member_.index != 0 ? to : from, to, count_, type_, 0,
                          communicator_);
    case Kind::broadcast:  // one buffer: the root's is what it sends
      return mpi().broadcast(to != nullptr ? to : const_cast<std::byte*>(from), count_, type_, 0,
                             communicator_);
    case Kind::reduce_scatter:
      return mpi().reduce_scatter(from, to, count_, type_, communicator_);
    case Kind::all_gather:
      return mpi().all_gather(from, to, count_, type_, communicator_);
    case Kind::all_to_all:
      return mpi().all_to_all(from, to, count_, type_, communicator_);
    case Kind::barrier:
      return mpi().barrier(communicator_);
  }
  return 0;
}

Method mpi_collective(const std::shared_ptr<MpiContext>& context) {
  return {.spec = {"mpi-collective", "collectives of several processes by MPI, loaded at run time",
                   Quantity::bandwidth, mpi_collective_traits},
          .parameters = {collective_kind, mpi_element_type, in_place},
          .available = [context] { return context->library().available(); },
          .supports = supports_members,
          .quantity_of =
              [](const Flow& flow) {
                const bool barrier =
                    flow.parameters.choice<CollectiveKind>(collective_kind) == CollectiveKind::barrier;
                return barrier ? Quantity::latency : Quantity::bandwidth;
              },
          .rotation_bytes =
              [context](const Flow& flow) {
                std::vector<DeviceId> devices;
                for (const Endpoint& member : flow.members) devices.push_back(member.device);
                return context->rotation_bytes(devices);
              },
          .parts = member_parts,
          .assemble =
              [context](const Flow& flow, const std::vector<LocalPart>& own) {
                return assemble_members(*context, flow, own);
              }};
}

}  // namespace linkscope::mpi
