// MemberExport: what other processes must know of one member to reach its memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/gpu/ipc/mapping.hpp"

namespace linkscope::direct {

struct MemberExport {
  int index = 0;  ///< among all members
  int multiprocessors = 1;
  bool programmatic = false;  ///< whether its kernels can be launched with vendor::Start::programmatic
  std::optional<gpu::IpcExport> workspace;
  std::optional<gpu::IpcExport> source;       ///< where it has one, and others may load from it
  std::optional<gpu::IpcExport> destination;  ///< where it has one, and others may store to it
};

/// As bytes, for PreparedParts::export_handles().
std::string text_of(const std::vector<MemberExport>& exports);
/// The inverse. Throws Error{broken} for anything else.
std::vector<MemberExport> read_exports(const std::string& text);

}  // namespace linkscope::direct
