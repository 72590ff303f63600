// RankExport: what other processes must know of one rank to pack into its memory and to wait for its events.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/gpu/ipc/mapping.hpp"

namespace linkscope::workload {

struct RankExport {
  int rank = 0;
  gpu::IpcExport memory;  ///< of its messages
  std::map<int, std::string>
      sent;  ///< by peer, handles of its events; empty ones where the driver gives none
  std::map<int, std::string> freed;  ///< the same
};

/// What a process offers.
struct ProcessExport {
  std::string board;  ///< of the process that made it
  std::vector<RankExport> ranks;

  /// As bytes, for PreparedParts::export_handles().
  [[nodiscard]] std::string text() const;
  /// The inverse. Throws Error{broken} for anything else.
  static ProcessExport read(const std::string& text);
  /// Whether all events of its ranks can be opened elsewhere.
  [[nodiscard]] bool has_events() const;
};

}  // namespace linkscope::workload
