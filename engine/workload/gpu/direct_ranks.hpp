// DirectRanks: this process's ranks of a direct-schedule on GPUs, and how they come to the others' memory and events.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/ipc/mapping.hpp"
#include "workload/gpu/direct_transport.hpp"
#include "workload/gpu/local_rank.hpp"
#include "workload/gpu/rank_export.hpp"
#include "workload/message_slots.hpp"
#include "workload/schedule_method.hpp"

namespace linkscope::workload {

class DirectRanks final : public ScheduleParts {
 public:
  /// `order`: what is wanted; hosts keep order where ranks are in several processes and a driver shares no events.
  DirectRanks(std::shared_ptr<gpu::GpuContext> context, std::shared_ptr<gpu::IpcMappings> mappings,
              const Flow& flow, std::vector<LocalRank> own, MessageOrder order);

  /// Where ranks are in several processes: handles of their memory and events.
  [[nodiscard]] std::string export_handles() override;
  void import_handles(const std::vector<std::string>& exports) override;

 private:
  using Event = std::shared_ptr<const gpu::StreamEvent>;
  /// Of one rank, by peer.
  struct RankEvents {
    std::map<int, Event> sent;
    std::map<int, Event> freed;
  };

  [[nodiscard]] bool in_several_processes() const;
  /// Where messages from `source` come in the memory of `destination`; null where none do.
  [[nodiscard]] const MessageSlot* slot(int source, int destination) const;
  void make_events();
  [[nodiscard]] std::map<int, RankExport> others(const std::vector<std::string>& exports);
  void connect(LocalRank& own, const std::map<int, RankExport>& others);
  [[nodiscard]] DirectPeer peer_of(const LocalRank& own, int peer, const std::map<int, RankExport>& others);
  void reach_here(const LocalRank& own, int peer, DirectPeer& found) const;
  void reach_there(const LocalRank& own, int peer, const RankExport& exported, DirectPeer& found) const;

  std::shared_ptr<gpu::GpuContext> context_;
  std::shared_ptr<gpu::IpcMappings> mappings_;
  Flow flow_;
  std::vector<LocalRank> own_;
  MessageOrder order_;
  std::vector<MessageSlots> slots_;           ///< by rank
  std::map<int, RankEvents> events_;          ///< by rank of this process
  std::map<int, const Buffer*> local_;        ///< messages, by rank of this process
  std::shared_ptr<const BoardMemory> board_;  ///< made here where this process has rank 0
};

}  // namespace linkscope::workload
