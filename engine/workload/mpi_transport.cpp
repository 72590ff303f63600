#include "workload/mpi_transport.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/steady_clock.hpp"

namespace linkscope::workload {
namespace {

mpi::MpiNumber number_of(NumberType type) {
  switch (type) {
    case NumberType::int32:
      return mpi::number_int32;
    case NumberType::int64:
      return mpi::number_int64;
    case NumberType::float64:
      return mpi::number_float64;
  }
  return mpi::number_int32;
}

mpi::MpiReduce reduce_of(ReduceOp by) {
  return by == ReduceOp::sum ? mpi::reduce_sum : by == ReduceOp::min ? mpi::reduce_min : mpi::reduce_max;
}

}  // namespace

int MpiTransport::Requests::add() {
  const auto wanted = static_cast<std::size_t>(count_ + 1) * functions_->request_bytes;
  if (room_.size() < wanted) room_.resize(2 * wanted);
  functions_->clear(1, room_.data(), count_);
  return count_++;
}

MpiTransport::MpiTransport(mpi::MpiRuntime& runtime, const Schedule& schedule, int rank, std::byte* base,
                           const StagedSlots& staged)
    : runtime_(&runtime),
      mpi_(&runtime.functions()),
      gpus_(staged.gpus),
      requests_(runtime.functions()),
      receives_(runtime.functions()),
      sends_(runtime.functions()) {
  const MessageSlots slots(schedule, rank);
  to_ = slots_of(slots.to(), base, staged);
  from_ = slots_of(slots.from(), base, staged);
  reduction_.resize(mpi_->request_bytes);
  if (!schedule.particles) return;
  for (const auto& [peer, slot] : from_) {
    receive_of_[peer] = receives_.add();
    peer_of_.push_back(peer);
  }
}

MpiTransport::~MpiTransport() = default;

void MpiTransport::connect(mpi::MpiHandle communicator, int tag) {
  communicator_ = communicator;
  tag_ = tag;
}

std::map<int, MpiTransport::Slot> MpiTransport::slots_of(const std::map<int, MessageSlot>& places,
                                                         std::byte* base, const StagedSlots& staged) const {
  std::map<int, Slot> slots;
  for (const auto& [peer, place] : places) {
    Slot& slot = slots[peer];
    slot.memory = base + place.offset;
    slot.bytes = place.bytes;
    if (staged.gpus != nullptr) slot.bounce = staged.gpus->bounce(staged.where, place.bytes);
  }
  return slots;
}

std::byte* MpiTransport::outgoing(int peer, Bytes offset, Bytes /*bytes*/) {
  return to_.at(peer).memory + offset;
}

const std::byte* MpiTransport::incoming(int peer, Bytes offset) { return from_.at(peer).memory + offset; }

void MpiTransport::receive(int peer, Bytes offset, Bytes bytes) {
  const Slot& slot = from_.at(peer);
  std::byte* const at = (slot.bounce ? slot.bounce->data() : slot.memory) + offset;
  const bool particles = !peer_of_.empty();
  Requests& requests = particles ? receives_ : requests_;
  const int index = particles ? receive_of_.at(peer) : requests.add();
  check(mpi_->begin_receive(at, static_cast<std::int64_t>(bytes), peer, tag_, communicator_, requests.data(),
                            index),
        "MPI_Irecv");
  if (!particles) received_.push_back(peer);
}

void MpiTransport::send(int peer, Bytes offset, Bytes bytes) {
  Slot& slot = to_.at(peer);
  load(slot);
  const std::byte* const at = (slot.bounce ? slot.bounce->data() : slot.memory) + offset;
  const int index = requests_.add();
  check(mpi_->begin_send(at, static_cast<std::int64_t>(bytes), peer, tag_, communicator_, requests_.data(),
                         index),
        "MPI_Isend");
}

void MpiTransport::wait() {
  if (requests_.count() > 0) check(mpi_->wait_all(requests_.count(), requests_.data(), 0), "MPI_Waitall");
  requests_.forget();
  for (const int peer : received_) store(from_.at(peer));
  received_.clear();
}

void MpiTransport::load(Slot& slot) {
  if (!slot.bounce) return;
  const Seconds begin = steady_seconds();
  check_copy(slot.bounce->load(slot.memory, slot.bytes));
  copied_ += steady_seconds() - begin;
}

void MpiTransport::store(Slot& slot) {
  if (!slot.bounce) return;
  const Seconds begin = steady_seconds();
  check_copy(slot.bounce->store(slot.memory, slot.bytes));
  copied_ += steady_seconds() - begin;
}

void MpiTransport::send_from(int peer, const std::byte* from, Bytes bytes) {
  const int index = sends_.add();
  check(mpi_->begin_send(from, static_cast<std::int64_t>(bytes), peer, tag_, communicator_, sends_.data(),
                         index),
        "MPI_Isend");
}

bool MpiTransport::sent() {
  int over = 1;
  if (sends_.count() > 0) check(mpi_->test_all(sends_.count(), sends_.data(), 0, &over), "MPI_Testall");
  if (over != 0) sends_.forget();
  return over != 0;
}

std::optional<ArrivedMessage> MpiTransport::arrived() {
  if (receives_.count() == 0) return std::nullopt;
  int index = -1;
  std::int64_t bytes = 0;
  check(mpi_->test_any(receives_.count(), receives_.data(), 0, &index, &bytes), "MPI_Testany");
  if (index < 0) return std::nullopt;
  return ArrivedMessage{peer_of_[static_cast<std::size_t>(index)], static_cast<Bytes>(bytes)};
}

void MpiTransport::cancel() { check(mpi_->cancel_all(receives_.count(), receives_.data(), 0), "MPI_Cancel"); }

void MpiTransport::collective(const SmallCollective& what, void* numbers) {
  if (what.count == 0) {
    check(mpi_->barrier(communicator_), "MPI_Barrier");
    return;
  }
  check(mpi_->reduce_numbers(numbers, what.count, number_of(what.type), reduce_of(what.reduction),
                             communicator_),
        "MPI_Allreduce");
}

void MpiTransport::begin_reduce(std::int64_t* numbers, int count) {
  check(mpi_->begin_reduce_numbers(numbers, count, mpi::number_int64, mpi::reduce_sum, communicator_,
                                   reduction_.data(), 0),
        "MPI_Iallreduce");
}

bool MpiTransport::reduced() {
  int over = 0;
  check(mpi_->test_all(1, reduction_.data(), 0, &over), "MPI_Testall");
  return over != 0;
}

/// In MPI's thread already, which alone may ask for its words.
void MpiTransport::check(int code, const char* call) const {
  if (code != 0) throw runtime_->failure(code, call);
}

void MpiTransport::check_copy(int code) const {
  if (code != 0) throw gpus_->failure(code);
}

}  // namespace linkscope::workload
