// mpi-schedule: an application's messages by MPI, a process for each rank.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "backend/mpi/methods.hpp"
#include "base/steady_clock.hpp"
#include "model/gpu_runtime.hpp"
#include "workload/methods.hpp"

namespace linkscope::workload {
namespace {

enum class StagedCopies { none, full };
constexpr Parameter staging_parameter = word(
    "staging", "none|full",
    "none: MPI is given the messages' memory; full: the whole buffer is copied to host memory before each "
    "message, and back after it, as CloverLeaf does");

bool is_staged(const Flow& flow) {
  return flow.parameters.choice<StagedCopies>(staging_parameter) == StagedCopies::full;
}

// MPI's names, in the order of NumberType and ReduceOp.
constexpr std::array numbers_of_mpi{mpi::number_int32, mpi::number_int64, mpi::number_float64};
constexpr std::array reductions_of_mpi{mpi::reduce_sum, mpi::reduce_min, mpi::reduce_max};

/// Requests in MPI's own form, which grow as they are needed.
class MpiRequests {
 public:
  explicit MpiRequests(const mpi::MpiFunctions& functions) : functions_(&functions) {}
  [[nodiscard]] int add() {
    const auto wanted = static_cast<std::size_t>(count_ + 1) * functions_->request_bytes;
    if (room_.size() < wanted) room_.resize(2 * wanted);
    functions_->clear(1, room_.data(), count_);
    return count_++;
  }
  [[nodiscard]] void* data() { return room_.data(); }
  [[nodiscard]] int count() const { return count_; }
  void forget() { count_ = 0; }

 private:
  const mpi::MpiFunctions* functions_;
  std::vector<std::byte> room_;
  int count_ = 0;
};

/// Isend, Irecv and Waitall; for particles Irecv once for each neighbour, Testany, and Isend of each message.
class MpiTransport final : public Transport {
 public:
  /// `runtime` outlives it. `base`: of the rank's messages, in memory `where`. With `gpus`, messages are staged in host
  /// memory beside each slot, which is copied whole each time; without, MPI is given the memory itself.
  MpiTransport(mpi::MpiRuntime& runtime, const Schedule& schedule, int rank, std::byte* base,
               const Endpoint& where, GpuRuntime* gpus)
      : runtime_(&runtime),
        mpi_(&runtime.functions()),
        gpus_(gpus),
        requests_(*mpi_),
        receives_(*mpi_),
        sends_(*mpi_),
        reduction_(mpi_->request_bytes) {
    const MessageSlots slots(schedule, rank);
    to_ = slots_of(slots.to, base, where);
    from_ = slots_of(slots.from, base, where);
    if (!schedule.particles) return;
    for (const auto& [peer, slot] : from_) {
      receive_of_[peer] = receives_.add();
      peer_of_.push_back(peer);
    }
  }

  /// Before anything else.
  void connect(mpi::MpiHandle communicator, int tag) {
    communicator_ = communicator;
    tag_ = tag;
  }

  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset) override { return to_.at(peer).memory + offset; }

  void receive(int peer, Bytes offset, Bytes bytes) override {
    const bool particles = !peer_of_.empty();
    MpiRequests& requests = particles ? receives_ : requests_;
    const int index = particles ? receive_of_.at(peer) : requests.add();
    check(mpi_->begin_receive(from_.at(peer).given() + offset, static_cast<std::int64_t>(bytes), peer, tag_,
                              communicator_, requests.data(), index),
          "MPI_Irecv");
    if (!particles) received_.push_back(peer);
  }

  void send(int peer, Bytes offset, Bytes bytes) override {
    Slot& slot = to_.at(peer);
    if (slot.bounce) timed_copy([&] { return slot.bounce->load(slot.memory, slot.bytes); });
    begin_send(requests_, peer, slot.given() + offset, bytes);
  }

  void wait() override {
    if (requests_.count() > 0) check(mpi_->wait_all(requests_.count(), requests_.data(), 0), "MPI_Waitall");
    requests_.forget();
    for (const int peer : received_) {
      Slot& slot = from_.at(peer);
      if (slot.bounce) timed_copy([&] { return slot.bounce->store(slot.memory, slot.bytes); });
    }
    received_.clear();
  }

  void send_from(int peer, const std::byte* from, Bytes bytes) override {
    begin_send(sends_, peer, from, bytes);
  }

  [[nodiscard]] bool sent() override {
    int over = 1;
    if (sends_.count() > 0) check(mpi_->test_all(sends_.count(), sends_.data(), 0, &over), "MPI_Testall");
    if (over != 0) sends_.forget();
    return over != 0;
  }

  [[nodiscard]] std::optional<ArrivedMessage> arrived() override {
    if (receives_.count() == 0) return std::nullopt;
    int index = -1;
    std::int64_t bytes = 0;
    check(mpi_->test_any(receives_.count(), receives_.data(), 0, &index, &bytes), "MPI_Testany");
    if (index < 0) return std::nullopt;
    return ArrivedMessage{peer_of_[static_cast<std::size_t>(index)], static_cast<Bytes>(bytes)};
  }

  void cancel() override { check(mpi_->cancel_all(receives_.count(), receives_.data(), 0), "MPI_Cancel"); }

  void collective(const SmallCollective& what, void* numbers) override {
    if (what.count == 0) {
      check(mpi_->barrier(communicator_), "MPI_Barrier");
      return;
    }
    check(mpi_->reduce_numbers(numbers, what.count, numbers_of_mpi[static_cast<std::size_t>(what.type)],
                               reductions_of_mpi[static_cast<std::size_t>(what.reduction)], communicator_),
          "MPI_Allreduce");
  }

  void begin_reduce(std::int64_t* numbers, int count) override {
    check(mpi_->begin_reduce_numbers(numbers, count, mpi::number_int64, mpi::reduce_sum, communicator_,
                                     reduction_.data(), 0),
          "MPI_Iallreduce");
  }

  [[nodiscard]] bool reduced() override {
    int over = 0;
    check(mpi_->test_all(1, reduction_.data(), 0, &over), "MPI_Testall");
    return over != 0;
  }

  [[nodiscard]] Seconds copied() const override { return copied_; }

 private:
  struct Slot {
    std::byte* memory = nullptr;
    Bytes bytes = 0;
    std::unique_ptr<BounceBuffer> bounce;
    /// Returns the memory that MPI is given.
    [[nodiscard]] std::byte* given() const { return bounce ? bounce->data() : memory; }
  };

  [[nodiscard]] std::map<int, Slot> slots_of(const std::map<int, MessageSlot>& places, std::byte* base,
                                             const Endpoint& where) const {
    std::map<int, Slot> slots;
    for (const auto& [peer, place] : places) {
      Slot& slot = slots[peer];
      slot.memory = base + place.offset;
      slot.bytes = place.bytes;
      if (gpus_ != nullptr) slot.bounce = gpus_->bounce(where, place.bytes);
    }
    return slots;
  }

  void begin_send(MpiRequests& requests, int peer, const std::byte* from, Bytes bytes) {
    const int index = requests.add();
    check(mpi_->begin_send(from, static_cast<std::int64_t>(bytes), peer, tag_, communicator_, requests.data(),
                           index),
          "MPI_Isend");
  }

  template <class Copy>
  void timed_copy(const Copy& copy) {
    const Seconds begin = steady_seconds();
    if (const int code = copy(); code != 0) throw gpus_->failure(code);
    copied_ += steady_seconds() - begin;
  }

  /// Called in MPI's thread already, which alone may ask for MPI's words.
  void check(int code, const char* call) const {
    if (code != 0) throw runtime_->failure(code, call);
  }

  mpi::MpiRuntime* runtime_;
  const mpi::MpiFunctions* mpi_;
  GpuRuntime* gpus_;
  std::map<int, Slot> to_;
  std::map<int, Slot> from_;
  mpi::MpiHandle communicator_ = 0;
  int tag_ = 0;
  MpiRequests requests_;       ///< of a phase: sends and receives
  std::vector<int> received_;  ///< peers that a phase receives from
  MpiRequests receives_;       ///< of particles, one a neighbour, in the order of from_
  std::map<int, int> receive_of_;
  std::vector<int> peer_of_;
  MpiRequests sends_;  ///< of particles
  std::vector<std::byte> reduction_;
  Seconds copied_ = 0;
};

Support takes_processes(const Flow& flow) {
  if (!mpi::in_own_processes(flow)) return Support::no("mpi-schedule has one rank in each process");
  if (!is_staged(flow)) return Support::yes();
  if (flow.schedule->particles) return Support::no("staging of particles is not what the application does");
  if (!std::all_of(flow.members.begin(), flow.members.end(), mpi::on_gpu))
    return Support::no("staging is of a GPU's memory: MPI takes host memory as it is");
  return Support::yes();
}

}  // namespace

Method mpi_schedule(const std::shared_ptr<mpi::MpiContext>& context, const MakePacker& gpu_packer) {
  Method method = schedule_method({"mpi-schedule", "an application's messages by MPI, loaded at run time",
                                   Quantity::bandwidth, mpi_schedule_traits},
                                  takes_processes);
  method.parameters = {staging_parameter};
  method.available = [context] { return context->library().available(); };
  method.assemble = [context, gpu_packer](const Flow& flow, const std::vector<LocalPart>& own) {
    std::unique_ptr<Transfer> own_rank;
    MpiTransport* transport = nullptr;
    if (!own.empty()) {
      const LocalPart& part = own.front();
      const Endpoint& where = flow.members[part.index];
      const DeviceId device = worker_of(flow, part.index).device;
      mpi::MpiRuntime& runtime = context->runtime(device);
      if (!is_staged(flow)) context->require_taken(where);
      RankContext rank = rank_context(flow, part, gpu_packer);
      auto by_mpi =
          std::make_unique<MpiTransport>(runtime, *flow.schedule, rank.rank, part.arenas.destination->data(),
                                         where, is_staged(flow) ? context->gpus() : nullptr);
      transport = by_mpi.get();
      rank.transport = std::move(by_mpi);
      own_rank =
          schedule_transfer(std::move(rank), {context->caller(device).node, runtime.worker(), runtime.turn(),
                                              runtime.notes(), [context, device] { context->use(device); }});
    }
    mpi::MpiRuntime& runtime = context->library().runtime();
    const auto connect = [&runtime, ranks = mpi::ranks_of(flow), transport,
                          held = std::shared_ptr<void>()](std::uint64_t /*slots*/) mutable {
      held = runtime.hold(ranks);  // as long as these parts live
      const mpi::Tags tags = runtime.tags();
      const mpi::MpiHandle communicator = runtime.communicator(ranks);
      if (transport != nullptr) transport->connect(communicator, tags.message);
    };
    return mpi::prepared(runtime, std::move(own_rank), 0, connect);
  };
  return method;
}

}  // namespace linkscope::workload
