#include "backend/mpi/collective_transfer.hpp"

#include <string>

#include "base/steady_clock.hpp"

namespace linkscope::mpi {

namespace {

using Kind = CollectiveKind;

bool adds_up(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

/// What moves without being added up needs no type of its own.
MpiElement element_of(const CollectiveShape& shape) {
  switch (shape.type) {
    case ElementType::float32:
      return element_float32;
    case ElementType::int32:
      return element_int32;
    case ElementType::float16:
      return adds_up(shape.kind) ? element_float16 : element_uint16;
    case ElementType::bfloat16:
      return adds_up(shape.kind) ? element_bfloat16 : element_uint16;
  }
  return element_byte;
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
  switch (kind) {
    case Kind::all_reduce:
      return "MPI_Allreduce";
    case Kind::reduce:
      return "MPI_Reduce";
    case Kind::broadcast:
      return "MPI_Bcast";
    case Kind::reduce_scatter:
      return "MPI_Reduce_scatter_block";
    case Kind::all_gather:
      return "MPI_Allgather";
    case Kind::all_to_all:
      return "MPI_Alltoall";
    case Kind::barrier:
      return "MPI_Barrier";
  }
  return "";
}

/// What there is to say of an MPI that was to add up elements of `type`, after its name; empty where it does.
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
  check_.emplace(shape_, member_.index, arenas);
}

void MpiCollectiveTransfer::arm(std::uint64_t seed) {
  restart();
  check_->arm(seed);
}

void MpiCollectiveTransfer::restore() { check_->restore(done()); }

std::optional<Mismatch> MpiCollectiveTransfer::verify(std::uint64_t seed) const {
  return check_->verify(seed, done());
}

Bytes MpiCollectiveTransfer::verified_bytes() const {
  return member_.arenas.destination == nullptr ? 0 : check_->verified_bytes(done());
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

}  // namespace linkscope::mpi
