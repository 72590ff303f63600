// direct-schedule on GPUs: messages are packed straight into the receiver's memory, which may be another process's.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/ipc/mapping.hpp"
#include "backend/gpu/streams.hpp"
#include "base/error.hpp"
#include "base/pack.hpp"
#include "workload/direct_transport.hpp"
#include "workload/gpu/local_rank.hpp"
#include "workload/methods.hpp"

namespace linkscope::workload {
namespace {

constexpr Parameter order_parameter = word("order", "device|host",
                                           "device: GPUs keep packing and messages in order, by events; "
                                           "host: hosts synchronise them before they say that "
                                           "a message is there; ranks on CPUs take host alone");
constexpr Rotation whole{0, 1};  // memory of messages is used as a whole

/// A rank, and another one that messages go to or come from.
using RankPair = std::pair<int, int>;

/// Events by rank and peer: those of this process's ranks, and handles of all processes'.
struct PairEvents {
  std::map<RankPair, std::shared_ptr<const gpu::StreamEvent>> own;
  std::map<RankPair, std::string> handles;

  void put(Pack& pack) const {
    pack.put<std::uint64_t>(own.size());
    for (const auto& [pair, event] : own) pack.put(pair.first).put(pair.second).text(event->handle());
  }
  void add_handles(Unpack& told) {
    for (std::size_t left = told.count(); left > 0; --left) {
      const int rank = told.number(0);
      const int peer = told.number(0);
      handles[{rank, peer}] = told.text();
    }
  }
  [[nodiscard]] bool some_without_handle() const {
    return std::any_of(handles.begin(), handles.end(), [](const auto& one) { return one.second.empty(); });
  }
};

/// This process's ranks, and how they come to the others' memory and events.
class DirectRanks final : public ScheduleParts {
 public:
  /// `order`: what is wanted; hosts keep order where ranks are in several processes and a driver shares no events.
  DirectRanks(std::shared_ptr<gpu::GpuContext> context, std::shared_ptr<gpu::IpcMappings> mappings,
              const Flow& flow, std::vector<LocalRank> own, MessageOrder order)
      : context_(std::move(context)),
        mappings_(std::move(mappings)),
        flow_(flow),
        own_(std::move(own)),
        order_(order),
        slots_(slots_of_ranks(*flow.schedule)) {
    for (const LocalRank& one : own_) local_[one.context.rank] = one.context.messages;
    if (local_.contains(0)) board_ = std::make_shared<const BoardMemory>(flow_.schedule->ranks);
    if (order_ == MessageOrder::device) make_events();
  }

  /// Tells the other processes, where there are any, of the board and of handles for the ranks' memory and events.
  [[nodiscard]] std::string export_handles() override {
    if (own_.empty() || !in_several_processes(flow_)) return {};
    Pack pack;
    pack.put(order_)
        .text(local_.contains(0) ? board_->told() : std::string())
        .put<std::uint64_t>(own_.size());
    for (const LocalRank& one : own_)
      pack.put(one.context.rank).text(gpu::IpcExport::of(*context_, *one.context.messages, whole).text());
    sent_.put(pack);
    freed_.put(pack);
    return pack.bytes();
  }

  void import_handles(const std::vector<std::string>& exports) override {
    if (own_.empty()) return;
    if (in_several_processes(flow_)) read(exports);
    for (LocalRank& one : own_) connect(one);
    own_.clear();
  }

 private:
  using Event = std::shared_ptr<const gpu::StreamEvent>;

  /// Returns where messages from `source` come in the memory of `destination`; null where none do.
  [[nodiscard]] const MessageSlot* slot(int source, int destination) const {
    return slots_[static_cast<std::size_t>(destination)].from_peer(source);
  }

  /// A driver may have no events that other processes can wait for.
  void make_events() {
    const auto reach = in_several_processes(flow_) ? gpu::EventReach::node : gpu::EventReach::process;
    const auto make = [&](const LocalRank& one) {
      return std::make_shared<const gpu::StreamEvent>(*context_, one.packer->device(), reach);
    };
    try {
      for (const LocalRank& one : own_) {
        const int rank = one.context.rank;
        for (int peer = 0; peer < flow_.schedule->ranks; ++peer) {
          if (slot(rank, peer) != nullptr) sent_.own[{rank, peer}] = make(one);
          if (slot(peer, rank) != nullptr) freed_.own[{rank, peer}] = make(one);
        }
      }
    } catch (const Error& error) {
      if (error.fault() != Fault::broken || reach == gpu::EventReach::process) throw;
      sent_ = {};
      freed_ = {};
      order_ = MessageOrder::host;
    }
  }

  /// All processes see the same exports, and so take the same order.
  void read(const std::vector<std::string>& exports) {
    for (const std::string& exported : exports) {
      if (exported.empty()) continue;
      Unpack told(exported, "a process offered no ranks");
      if (told.get<MessageOrder>() != MessageOrder::device) order_ = MessageOrder::host;
      const std::string board = told.text();
      if (!board.empty() && board_ == nullptr)
        board_ = std::make_shared<const BoardMemory>(flow_.schedule->ranks, board);
      for (std::size_t left = told.count(); left > 0; --left) {
        const int rank = told.number(0);
        foreign_[rank] = gpu::IpcExport::read(told.text());
      }
      sent_.add_handles(told);
      freed_.add_handles(told);
      told.end();
    }
    if (sent_.some_without_handle() || freed_.some_without_handle()) order_ = MessageOrder::host;
    if (board_ == nullptr) throw Error(Fault::broken, "no process offered memory for ranks to share");
  }

  void connect(LocalRank& own) {
    const int rank = own.context.rank;
    std::map<int, DirectPeer> peers;
    for (int peer = 0; peer < flow_.schedule->ranks; ++peer) {
      if (slot(rank, peer) != nullptr || slot(peer, rank) != nullptr) peers[peer] = peer_of(own, peer);
    }
    RankThread thread = thread_of(context_, own.packer->device());
    thread.notes = {
        order_ == MessageOrder::device ? "GPUs keep packing and messages in order, by events"
                                       : "hosts keep packing and messages in order",
        in_several_processes(flow_) ? "ranks in several processes" : "ranks are threads of one process"};
    own.context.transport = std::make_unique<DirectTransport>(RankBoard(board_, rank), *flow_.schedule,
                                                              order_, *own.packer, std::move(peers));
    add(std::move(own.context), std::move(thread));
  }

  [[nodiscard]] DirectPeer peer_of(const LocalRank& own, int peer) const {
    const int rank = own.context.rank;
    DirectPeer found;
    if (const MessageSlot* const to = slot(rank, peer)) {
      reach(own.packer->device(), peer, found);
      found.theirs += to->offset;
      found.room = to->bytes;
    }
    if (order_ != MessageOrder::device) return found;
    gpu::GpuPacker* const packer = own.packer;  // outlives what it does for the transport
    if (const Event event = event_of(sent_, {rank, peer}, packer->device()))
      found.record_sent = [event, packer] { event->record(packer->stream()); };
    if (const Event event = event_of(freed_, {rank, peer}, packer->device()))
      found.record_freed = [event, packer] { event->record(packer->stream()); };
    if (const Event event = event_of(sent_, {peer, rank}, packer->device()))
      found.await_sent = [event, packer] { event->hold_back(packer->stream()); };
    if (const Event event = event_of(freed_, {peer, rank}, packer->device()))
      found.await_freed = [event, packer] { event->hold_back(packer->stream()); };
    return found;
  }

  /// For streams of `device`: of this process, or opened by its handle; null where there is none.
  [[nodiscard]] Event event_of(const PairEvents& events, const RankPair& pair, int device) const {
    if (const auto found = events.own.find(pair); found != events.own.end()) return found->second;
    const auto handle = events.handles.find(pair);
    if (handle == events.handles.end()) return nullptr;
    return std::make_shared<const gpu::StreamEvent>(*context_, device, handle->second);
  }

  /// Makes the peer's memory reachable from `device`.
  void reach(int device, int peer, DirectPeer& found) const {
    if (const auto here = local_.find(peer); here != local_.end()) {
      auto mapping = std::make_shared<gpu::PeerMapping>(context_->reach(device, *here->second));
      found.theirs = mapping->address;
      found.mapping = std::move(mapping);
      return;
    }
    const auto there = foreign_.find(peer);
    if (there == foreign_.end())
      throw Error(Fault::broken, "no process offered the memory of rank " + std::to_string(peer));
    if (const Support usable = there->second.usable(*context_, whole); !usable)
      throw Error(Fault::unsupported, usable.reason());
    const int process = flow_.members[static_cast<std::size_t>(peer)].rank;
    std::shared_ptr<const gpu::ForeignBuffer> mapping = mappings_->open(device, there->second, process);
    found.theirs = mapping->data();
    found.mapping = std::move(mapping);
  }

  std::shared_ptr<gpu::GpuContext> context_;
  std::shared_ptr<gpu::IpcMappings> mappings_;
  Flow flow_;
  std::vector<LocalRank> own_;
  MessageOrder order_;
  std::vector<MessageSlots> slots_;           ///< by rank
  std::shared_ptr<const BoardMemory> board_;  ///< made here where this process has rank 0
  std::map<int, const Buffer*> local_;        ///< messages, by rank of this process
  PairEvents sent_;                           ///< of messages to the peer
  PairEvents freed_;                          ///< of what the rank has unpacked from the peer
  std::map<int, gpu::IpcExport> foreign_;     ///< messages, by rank of all processes
};

}  // namespace

Method direct_schedule_on_gpus(const std::shared_ptr<gpu::GpuContext>& context,
                               const std::shared_ptr<gpu::GpuPackers>& packers) {
  // Every process must decide this alike: connecting finds what depends on the GPUs that a process sees.
  Method method = schedule_method(direct_schedule_spec, [](const Flow& flow) {
    const bool several = in_several_processes(flow);
    for (std::size_t rank = 0; rank < flow.members.size(); ++rank) {
      const DeviceId& device = worker_of(flow, rank).device;
      if (device.kind != DeviceKind::gpu)
        return Support::no("direct-schedule has ranks on GPUs or on CPUs, and rank " + std::to_string(rank) +
                           " is on " + device.text());
      if (!several) continue;
      if (const Support mapped = gpu::has_ipc_handle(flow.members[rank]); !mapped) return mapped;
    }
    return Support::yes();
  });
  method.parameters = {order_parameter};
  method.available = [context] {
    return context->device_count() > 0 ? Support::yes() : Support::no(context->problem());
  };
  const auto mappings = std::make_shared<gpu::IpcMappings>(context);
  method.assemble = [=](const Flow& flow, const std::vector<LocalPart>& own) {
    return std::make_unique<DirectRanks>(context, mappings, flow, local_ranks(*packers, flow, own),
                                         flow.parameters.choice<MessageOrder>(order_parameter));
  };
  return method;
}

}  // namespace linkscope::workload
