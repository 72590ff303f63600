// xccl-schedule: an application's messages by NCCL or RCCL, on the stream that packs them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/xccl/communicator.hpp"
#include "backend/xccl/context.hpp"
#include "base/error.hpp"
#include "base/steady_clock.hpp"
#include "workload/gpu/local_rank.hpp"
#include "workload/methods.hpp"
#include "workload/rank_board.hpp"

namespace linkscope::workload {
namespace {

constexpr Bytes staging_bytes = 64 * KiB;
constexpr Seconds new_wait = 1;  // without a look: what is waited for now is something else
constexpr unsigned looks_between_questions = 64;

// The library's names, in the order of NumberType and ReduceOp.
constexpr std::array data_types{xccl::DataType::int32, xccl::DataType::int64, xccl::DataType::float64};
constexpr std::array reductions{xccl::Reduction::sum, xccl::Reduction::min, xccl::Reduction::max};

/// The ranks of one process share the communicator, whose member `rank` is the schedule's rank, and know whether one of
/// them has failed.
struct XcclRanks {
  std::shared_ptr<xccl::Communicator> communicator;
  std::atomic<bool> given_up{false};
};

/// The messages of a phase are one group of ncclSend and ncclRecv. Collectives of host numbers go through words of the
/// GPU: to it, ncclAllReduce, and back.
///
/// Particles: NCCL has no probe, so who receives must know how much. In each phase first the lengths go, 8 bytes for
/// each message that the schedule has; when they have come, the messages go in one group.
class XcclTransport final : public Transport {
 public:
  /// `packer` and the schedule outlive it. `base`: of the rank's messages, laid out by MessageSlots.
  XcclTransport(const std::shared_ptr<gpu::GpuContext>& context, std::shared_ptr<XcclRanks> ranks,
                const Schedule& schedule, int rank, std::byte* base, gpu::GpuPacker& packer)
      : ranks_(std::move(ranks)),
        schedule_(&schedule),
        rank_(rank),
        base_(base),
        packer_(&packer),
        slots_(schedule, rank),
        staging_(*context, packer.device(), staging_bytes / sizeof(std::uint64_t)),
        staged_(gpu::allocate_pinned(*context, gpu::calling_node(*context, packer.device()), staging_bytes),
                gpu::pinned_deleter(context)) {
    packer.look_meanwhile([this] { look(); });
  }

  [[nodiscard]] MessageOrder order() const override { return MessageOrder::device; }

  [[nodiscard]] std::byte* outgoing(int peer, Bytes offset) override {
    return base_ + slots_.to.at(peer).offset + offset;
  }

  void receive(int peer, Bytes offset, Bytes bytes) override {
    if (schedule_->particles) return;
    receives_.push_back({peer, base_ + slots_.from.at(peer).offset + offset, bytes});
  }

  void send(int peer, Bytes offset, Bytes bytes) override {
    sends_.push_back({peer, outgoing(peer, offset), bytes});
  }

  void wait() override { exchange(sends_, receives_); }

  void begin_phase(const Phase& phase) override {
    phase_ = messages_of(phase, rank_);
    exchanged_ = !phase_.any();
  }

  void send_from(int peer, const std::byte* from, Bytes bytes) override {
    sends_.push_back({peer, const_cast<std::byte*>(from), bytes});
  }

  [[nodiscard]] bool sent() override {
    require_all();
    return sends_.empty() && idle();
  }

  /// Every rank with messages in a phase calls this once it has said what it sends, so that all join the groups.
  [[nodiscard]] std::optional<ArrivedMessage> arrived() override {
    require_all();
    if (is_due()) exchange_lengths();
    if (arrived_.empty()) return std::nullopt;
    const ArrivedMessage next = arrived_.back();
    arrived_.pop_back();
    return next;
  }

  void collective(const SmallCollective& what, void* numbers) override {
    auto* at = static_cast<std::byte*>(numbers);
    Bytes left = what.bytes();
    do {
      const Bytes bytes = std::min(left, staging_bytes);
      reduce_staged(what, at, bytes);
      packer_->synchronise();
      require_all();
      if (bytes > 0) std::memcpy(at, staged_.get(), bytes);
      at += bytes;
      left -= bytes;
    } while (left > 0);
  }

  void begin_reduce(std::int64_t* numbers, int count) override {
    reducing_ = numbers;
    reducing_bytes_ = static_cast<Bytes>(count) * sizeof *numbers;
    reduce_staged({.type = NumberType::int64, .reduction = ReduceOp::sum, .count = count}, numbers,
                  reducing_bytes_);
  }

  [[nodiscard]] bool reduced() override {
    if (!idle()) return false;
    std::memcpy(reducing_, staged_.get(), reducing_bytes_);
    return true;
  }

  /// Calls and kernels that wait for this rank return.
  void give_up() noexcept override {
    ranks_->given_up.store(true, std::memory_order_release);
    if (ranks_->communicator != nullptr) ranks_->communicator->abort();
  }

 private:
  /// A message on its way, to a peer or from one.
  struct Message {
    int peer = 0;
    std::byte* at = nullptr;
    Bytes bytes = 0;
  };
  using PinnedBytes = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

  [[nodiscard]] gpuStream_t stream() const { return packer_->stream(); }
  [[nodiscard]] const xccl::XcclLibrary& library() const { return ranks_->communicator->library(); }
  [[nodiscard]] xccl::Comm* comm() const { return ranks_->communicator->handle(packer_->device()); }

  /// Sends one group, and forgets what it held.
  void exchange(std::vector<Message>& sends, std::vector<Message>& receives) {
    if (sends.empty() && receives.empty()) return;
    require_all();
    LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
    const xccl::Api& api = library().api();
    xccl::Comm* const own = comm();
    xccl::Group group(library());
    for (const Message& one : receives)
      library().check(api.recv(one.at, one.bytes, xccl::DataType::int8, one.peer, own, stream()), "ncclRecv");
    for (const Message& one : sends)
      library().check(api.send(one.at, one.bytes, xccl::DataType::int8, one.peer, own, stream()), "ncclSend");
    group.end();
    sends.clear();
    receives.clear();
    waiting_since_ = steady_seconds();
  }

  void exchange_lengths() {
    exchanged_ = true;
    auto* const on_gpu = reinterpret_cast<std::byte*>(staging_.data());
    auto* const on_host = reinterpret_cast<std::uint64_t*>(staged_.get());
    constexpr Bytes each = sizeof(std::uint64_t);
    const std::size_t out = sends_.size();
    if ((out + phase_.receives.size()) * each > staging_bytes)
      throw Error(Fault::unsupported, "more messages in a phase than there is room for their lengths");
    std::vector<Message> lengths;
    std::vector<Message> expected;
    for (const Message& one : sends_) {
      on_host[lengths.size()] = one.bytes;
      lengths.push_back({one.peer, on_gpu + lengths.size() * each, each});
    }
    for (const PeerMessage& one : phase_.receives)
      expected.push_back({one.peer, on_gpu + (out + expected.size()) * each, each});
    const std::size_t in = expected.size();
    LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
    LINKSCOPE_CHECK(gpuMemcpyAsync(on_gpu, on_host, out * each, gpuMemcpyDefault, stream()));
    exchange(lengths, expected);
    LINKSCOPE_CHECK(
        gpuMemcpyAsync(on_host + out, on_gpu + out * each, in * each, gpuMemcpyDefault, stream()));
    packer_->synchronise();
    for (std::size_t i = 0; i < in; ++i) {
      const int peer = phase_.receives[i].peer;
      const MessageSlot& slot = slots_.from.at(peer);
      const Bytes bytes = on_host[out + i];
      if (bytes > slot.bytes)
        throw Error(Fault::broken, "rank " + std::to_string(peer) + " sends " + std::to_string(bytes) +
                                       " bytes, more than was expected");
      expected.push_back({peer, base_ + slot.offset, bytes});
      arrived_.insert(arrived_.begin(), {peer, bytes});
    }
    exchange(sends_, expected);
  }

  /// Says whether the phase's particles have still to go, and this rank has said what it sends.
  [[nodiscard]] bool is_due() const { return !exchanged_ && sends_.size() == phase_.sends.size(); }

  void reduce_staged(const SmallCollective& what, const void* numbers, Bytes bytes) {
    require_all();
    std::byte* const staged = staged_.get();
    if (bytes > 0) std::memcpy(staged, numbers, bytes);
    const Bytes moved = std::max<Bytes>(bytes, sizeof(std::int64_t));  // a barrier reduces a number as well
    LINKSCOPE_CHECK(gpuSetDevice(packer_->device()));
    LINKSCOPE_CHECK(gpuMemcpyAsync(staging_.data(), staged, moved, gpuMemcpyDefault, stream()));
    const std::size_t count = bytes > 0 ? bytes / bytes_of(what.type) : 1;
    library().check(
        library().api().all_reduce(staging_.data(), staging_.data(), count,
                                   data_types[static_cast<std::size_t>(what.type)],
                                   reductions[static_cast<std::size_t>(what.reduction)], comm(), stream()),
        "ncclAllReduce");
    LINKSCOPE_CHECK(gpuMemcpyAsync(staged, staging_.data(), moved, gpuMemcpyDefault, stream()));
    waiting_since_ = steady_seconds();
  }

  [[nodiscard]] bool idle() {
    if (packer_->idle()) {
      require_all();
      return true;
    }
    look();
    return false;
  }

  /// Is called now and then while a stream is waited for.
  void look() {
    if (++looks_ % looks_between_questions != 0) return;
    require_all();
    ranks_->communicator->watch();
    const Seconds now = steady_seconds();
    if (now - last_look_ > new_wait) waiting_since_ = now;
    last_look_ = now;
    if (now - waiting_since_ > longest_wait)
      throw Error(Fault::broken, library().name() + " has not moved the messages of rank " +
                                     std::to_string(rank_) + " within " +
                                     std::to_string(static_cast<int>(longest_wait)) + " s");
    std::this_thread::yield();
  }

  void require_all() const {
    if (ranks_->given_up.load(std::memory_order_acquire))
      throw Error(Fault::broken, "another rank of this process has failed");
  }

  std::shared_ptr<XcclRanks> ranks_;
  const Schedule* schedule_;
  int rank_;
  std::byte* base_;
  gpu::GpuPacker* packer_;
  MessageSlots slots_;
  gpu::DeviceWords staging_;
  PinnedBytes staged_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  RankMessages phase_;  ///< of particles, the one that is under way
  bool exchanged_ = true;
  std::vector<ArrivedMessage> arrived_;  ///< the last one first
  std::int64_t* reducing_ = nullptr;
  Bytes reducing_bytes_ = 0;
  Seconds waiting_since_ = 0;
  Seconds last_look_ = 0;
  unsigned looks_ = 0;
};

/// This process's ranks.
class XcclScheduleParts final : public ScheduleParts {
 public:
  XcclScheduleParts(std::shared_ptr<xccl::XcclContext> context, Flow flow, std::vector<LocalRank> own)
      : context_(std::move(context)), flow_(std::move(flow)), own_(std::move(own)) {}

  [[nodiscard]] std::string export_handles() override {
    const bool has_first = !own_.empty() && own_.front().context.rank == 0;
    return has_first ? xccl::text_of(*context_->communicators().offered_id()) : std::string();
  }

  void import_handles(const std::vector<std::string>& exports) override {
    context_->communicators().next_wish();
    if (own_.empty()) return;
    xccl::RankDevices members;
    for (const Endpoint& member : flow_.members) members.push_back({member.rank, member.device.index});
    const xccl::UniqueId id = xccl::read_id(exports.at(static_cast<std::size_t>(members.front().rank)));
    const int process = members[static_cast<std::size_t>(own_.front().context.rank)].rank;
    const auto ranks = std::make_shared<XcclRanks>();
    ranks->communicator = context_->communicators().lease(members, {}, process, id);
    for (LocalRank& one : own_) connect(one, ranks);
    own_.clear();
  }

 private:
  void connect(LocalRank& own, const std::shared_ptr<XcclRanks>& ranks) {
    RankThread thread = thread_of(context_->gpus(), own.packer->device());
    thread.notes = {context_->note()};
    own.context.transport =
        std::make_unique<XcclTransport>(context_->gpus(), ranks, *flow_.schedule, own.context.rank,
                                        own.context.messages->data(), *own.packer);
    add(std::move(own.context), std::move(thread));
  }

  std::shared_ptr<xccl::XcclContext> context_;
  Flow flow_;
  std::vector<LocalRank> own_;
};

/// Says whether some phase has two messages between the same two ranks.
bool has_parallel_messages(const Schedule& schedule) {
  std::set<std::tuple<const Phase*, int, int>> seen;
  for (const Loop& loop : schedule.loops) {
    for (const Phase& phase : loop.phases) {
      for (const ScheduledMessage& message : phase.messages) {
        if (!seen.emplace(&phase, message.source, message.destination).second) return true;
      }
    }
  }
  return false;
}

Support takes_gpus(const Flow& flow) {
  std::set<xccl::RankDevice> members;
  for (std::size_t rank = 0; rank < flow.members.size(); ++rank) {
    const Endpoint& member = flow.members[rank];
    if (member.device.kind != DeviceKind::gpu)
      return Support::no("xccl-schedule sends between GPUs' memories, not " + member.device.text() + "'s");
    if (worker_of(flow, rank).device != member.device)
      return Support::no("xccl-schedule: the GPU that packs for rank " + std::to_string(rank) +
                         " must have its messages, as " + member.device.text() + " has");
    if (!members.insert({member.rank, member.device.index}).second)
      return Support::no("a GPU can be one rank only of the library's communicators");
  }
  if (flow.schedule->particles && has_parallel_messages(*flow.schedule))
    return Support::no("xccl-schedule: one message of particles to a rank in each phase");
  return Support::yes();
}

}  // namespace

Method xccl_schedule(const std::shared_ptr<xccl::XcclContext>& context,
                     const std::shared_ptr<gpu::GpuPackers>& packers) {
  Method method = schedule_method({"xccl-schedule",
                                   "an application's messages by the vendor's library (NCCL, RCCL)",
                                   Quantity::bandwidth,
                                   {.stages = true, .by_xccl = true, .schedules = true}},
                                  takes_gpus);
  method.available = [context] { return context->available(); };
  method.assemble = [=](const Flow& flow, const std::vector<LocalPart>& own) {
    return std::make_unique<XcclScheduleParts>(context, flow, local_ranks(*packers, flow, own));
  };
  return method;
}

}  // namespace linkscope::workload
