// schedule_transfer: one rank of a schedule, which it carries out phase by phase, and knows where its time went.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/host/host_transfer.hpp"
#include "workload/phase_work.hpp"

namespace linkscope::workload {

/// The thread that carries a rank out.
struct RankThread {
  int node = 0;  ///< it runs on a CPU of this one
  // NOLINTBEGIN(readability-redundant-member-init): lets initialisers leave them out
  host::Worker* worker = nullptr;    ///< null: any of the node
  std::shared_ptr<void> turn{};      ///< held as long as it may call a library that serves one thread
  std::vector<std::string> notes{};  ///< for the row
  std::function<void()> prepare{};   ///< called before each start; may throw
  // NOLINTEND(readability-redundant-member-init)
};

/// Makes a rank ready to carry a schedule out. One transfer is the whole schedule. The first start since arm() first carries two repeats of each loop out untimed, with
/// other data in each, and checks after each phase that its messages have the data of their own repeat: one that is lost,
/// old or too early is found. All ranks meet before the timed transfers and after them. What counts of the span is
/// communication, waits for other ranks included: no gaps, and no work of the application's own.
[[nodiscard]] std::unique_ptr<host::HostTransfer> schedule_transfer(RankContext context, RankThread thread);

}  // namespace linkscope::workload
