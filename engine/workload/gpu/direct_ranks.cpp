#include "workload/gpu/direct_ranks.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::workload {
namespace {

/// Memory of messages is used as a whole.
constexpr Rotation whole{0, 1};

MessageKind kind_of(const Schedule& schedule) {
  return schedule.particles ? MessageKind::particles : MessageKind::scheduled;
}

}  // namespace

DirectRanks::DirectRanks(std::shared_ptr<gpu::GpuContext> context, std::shared_ptr<gpu::IpcMappings> mappings,
                         const Flow& flow, std::vector<LocalRank> own, MessageOrder order)
    : ScheduleParts(flow.schedule),
      context_(std::move(context)),
      mappings_(std::move(mappings)),
      flow_(flow),
      own_(std::move(own)),
      order_(order) {
  for (const LocalRank& one : own_) local_[one.context.rank] = one.context.messages;
  for (int rank = 0; rank < flow_.schedule->ranks; ++rank) slots_.emplace_back(*flow_.schedule, rank);
  if (local_.contains(0))
    board_ = std::make_shared<const BoardMemory>(RankBoard::bytes(flow_.schedule->ranks));
  if (order_ == MessageOrder::device) make_events();
}

bool DirectRanks::in_several_processes() const {
  return std::any_of(flow_.members.begin(), flow_.members.end(),
                     [&](const Endpoint& member) { return member.rank != flow_.members.front().rank; });
}

const MessageSlot* DirectRanks::slot(int source, int destination) const {
  const auto& from = slots_[static_cast<std::size_t>(destination)].from();
  const auto found = from.find(source);
  return found == from.end() ? nullptr : &found->second;
}

/// A driver may have none that other processes can wait for.
void DirectRanks::make_events() {
  const auto reach = in_several_processes() ? gpu::EventReach::node : gpu::EventReach::process;
  const auto make = [&](const LocalRank& one) {
    return std::make_shared<const gpu::StreamEvent>(*context_, one.packer->device(), reach);
  };
  try {
    for (const LocalRank& one : own_) {
      const int rank = one.context.rank;
      for (int peer = 0; peer < flow_.schedule->ranks; ++peer) {
        if (slot(rank, peer) != nullptr) events_[rank].sent[peer] = make(one);
        if (slot(peer, rank) != nullptr) events_[rank].freed[peer] = make(one);
      }
    }
  } catch (const Error& error) {
    if (error.fault() != Fault::broken || reach == gpu::EventReach::process) throw;
    events_.clear();
    order_ = MessageOrder::host;
  }
}

std::string DirectRanks::export_handles() {
  if (own_.empty() || !in_several_processes()) return {};
  ProcessExport process;
  if (board_ != nullptr) process.board = board_->told();
  const auto handles = [](const std::map<int, Event>& events) {
    std::map<int, std::string> found;
    for (const auto& [peer, event] : events) found[peer] = event->handle();
    return found;
  };
  for (const LocalRank& one : own_) {
    RankExport& exported = process.ranks.emplace_back();
    exported.rank = one.context.rank;
    exported.memory = gpu::IpcExport::of(*context_, *one.context.messages, whole);
    if (order_ == MessageOrder::host) {
      exported.sent[exported.rank] = {};  // says that there are none
      continue;
    }
    exported.sent = handles(events_[exported.rank].sent);
    exported.freed = handles(events_[exported.rank].freed);
  }
  return process.text();
}

void DirectRanks::import_handles(const std::vector<std::string>& exports) {
  if (own_.empty()) return;
  const std::map<int, RankExport> foreign =
      in_several_processes() ? others(exports) : std::map<int, RankExport>();
  for (LocalRank& one : own_) connect(one, foreign);
  own_.clear();
}

/// The ranks of other processes. All processes see the same exports, and so take the same order.
std::map<int, RankExport> DirectRanks::others(const std::vector<std::string>& exports) {
  std::map<int, RankExport> found;
  for (const std::string& text : exports) {
    if (text.empty()) continue;
    ProcessExport process = ProcessExport::read(text);
    if (!process.has_events()) order_ = MessageOrder::host;
    if (!process.board.empty() && board_ == nullptr)
      board_ = std::make_shared<const BoardMemory>(process.board, RankBoard::bytes(flow_.schedule->ranks));
    for (RankExport& one : process.ranks) {
      if (!local_.contains(one.rank)) found[one.rank] = std::move(one);
    }
  }
  if (board_ == nullptr) throw Error(Fault::broken, "no process offered memory for ranks to share");
  return found;
}

void DirectRanks::connect(LocalRank& own, const std::map<int, RankExport>& others) {
  const Schedule& schedule = *flow_.schedule;
  const int rank = own.context.rank;
  std::map<int, DirectPeer> peers;
  for (int peer = 0; peer < schedule.ranks; ++peer) {
    if (slot(rank, peer) != nullptr || slot(peer, rank) != nullptr) peers[peer] = peer_of(own, peer, others);
  }
  RankThread thread;
  thread.node = gpu::calling_node(*context_, own.packer->device());
  thread.notes = {order_ == MessageOrder::device ? "GPUs keep packing and messages in order, by events"
                                                 : "hosts keep packing and messages in order",
                  in_several_processes() ? "ranks in several processes" : "ranks are threads of one process"};
  thread.prepare = [context = context_, device = own.packer->device()] { context->use(device); };
  auto transport = std::make_unique<DirectTransport>(
      RankBoard(board_, schedule.ranks, rank), kind_of(schedule), order_, *own.packer, std::move(peers));
  add(std::make_unique<ScheduleTransfer>(own.context, std::move(own.packer), std::move(transport),
                                         std::move(thread)));
}

DirectPeer DirectRanks::peer_of(const LocalRank& own, int peer, const std::map<int, RankExport>& others) {
  const int rank = own.context.rank;
  DirectPeer found;
  if (const MessageSlot* const from = slot(peer, rank))
    found.own = own.context.messages->data() + from->offset;
  if (order_ == MessageOrder::device) {
    found.sent = events_[rank].sent[peer];
    found.freed = events_[rank].freed[peer];
  }
  const auto foreign = others.find(peer);
  if (foreign == others.end()) {
    reach_here(own, peer, found);
  } else {
    reach_there(own, peer, foreign->second, found);
  }
  if (const MessageSlot* const to = slot(rank, peer)) {
    found.theirs += to->offset;
    found.room = to->bytes;
  }
  return found;
}

/// A rank of this process.
void DirectRanks::reach_here(const LocalRank& own, int peer, DirectPeer& found) const {
  const int rank = own.context.rank;
  if (slot(rank, peer) != nullptr) {
    auto mapping =
        std::make_shared<gpu::PeerMapping>(context_->reach(own.packer->device(), *local_.at(peer)));
    found.theirs = mapping->address;
    found.mapping = std::move(mapping);
  }
  if (order_ != MessageOrder::device) return;
  const RankEvents& theirs = events_.at(peer);
  if (const auto sent = theirs.sent.find(rank); sent != theirs.sent.end()) found.their_sent = sent->second;
  if (const auto freed = theirs.freed.find(rank); freed != theirs.freed.end())
    found.their_freed = freed->second;
}

/// A rank of another one.
void DirectRanks::reach_there(const LocalRank& own, int peer, const RankExport& exported,
                              DirectPeer& found) const {
  const int rank = own.context.rank;
  const int device = own.packer->device();
  const int process = flow_.members[static_cast<std::size_t>(peer)].rank;
  if (slot(rank, peer) != nullptr) {
    if (const Support usable = exported.memory.usable(*context_, whole); !usable)
      throw Error(Fault::unsupported, usable.reason());
    std::shared_ptr<const gpu::ForeignBuffer> mapping = mappings_->open(device, exported.memory, process);
    found.theirs = mapping->data();
    found.mapping = std::move(mapping);
  }
  if (order_ != MessageOrder::device) return;
  const auto open = [&](const std::map<int, std::string>& handles) -> Event {
    const auto handle = handles.find(rank);
    return handle == handles.end()
               ? nullptr
               : std::make_shared<const gpu::StreamEvent>(*context_, device, handle->second);
  };
  found.their_sent = open(exported.sent);
  found.their_freed = open(exported.freed);
}

}  // namespace linkscope::workload
