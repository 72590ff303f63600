// Flow and Case: the whole vocabulary of benchmarks. Plain data, as the plan says it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/device.hpp"
#include "model/parameter.hpp"
#include "model/schedule.hpp"

namespace linkscope {

struct Method;

/// device: events or in-kernel stamps around work held back by a gate, so launch cost is outside.
/// host: wall time from call to completion, as an application sees it.
/// batch: wall time from the first of many calls, made one right after another, to the completion of the last, as
/// nccl-tests and osu_bw have it; a method whose calls complete one by one has no use for it.
enum class Clock { device, host, batch };
enum class Cache { warm, rotated, flushed };
/// once: a measured flow ends with its last repeat. sustained: after its end stamp it goes on, untimed, until every
/// measured flow has its own, so that each is timed under the full load of all the others.
enum class Load { once, sustained };
/// A background flow keeps going until every measured flow has ended.
enum class Role { measured, background };

/// How a case is timed.
struct Regime {
  Clock clock = Clock::device;
  Cache cache = Cache::rotated;
  Load load = Load::once;
  Seconds min_sample_s = 0;  ///< longer samples than the run's options ask for: starts and ends weigh less
  Seconds point_budget_s =
      std::numeric_limits<Seconds>::infinity();  ///< less sampling than the run's options allow
};

/// One stream of bytes. A read has no destination, a write no source, a call (a launch, an allocation) neither. A
/// collective has members in their place, and `bytes` is what nccl-tests calls its size. So has a schedule: a member is
/// the memory of a rank's messages, its state that of what the rank packs them from; `bytes` are those of all messages.
struct Flow {
  std::string method;
  const Method* row = nullptr;  ///< the catalog's of that name, once the plan is bound (run/binding.hpp)
  std::optional<Endpoint> source;
  std::optional<Endpoint> destination;
  std::vector<Endpoint> members;  ///< of a collective, in its order; of a schedule by rank
  std::vector<Endpoint> state;    ///< of a schedule, by rank; empty where messages are all that there is
  std::shared_ptr<const Schedule> schedule;
  DeviceId executor;
  int rank =
      0;  ///< the process that drives it; of a collective with a root, the root's is the first member's
  Bytes bytes = 0;
  Role role = Role::measured;
  Parameters parameters;
  std::string tuning_group;
};

/// Tells whether a flow's members are in more than one process.
[[nodiscard]] inline bool in_several_processes(const Flow& flow) {
  return std::any_of(flow.members.begin(), flow.members.end(),
                     [&](const Endpoint& member) { return member.rank != flow.members.front().rank; });
}

/// Flows that run at the same time, and the clock they are timed by.
struct Case {
  std::string id;
  Regime regime;
  std::vector<Flow> flows;
};

}  // namespace linkscope
