// run_members: a collective's members as threads, a thread for each worker, in launches of every member's own lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "collective/protocol/pieces.hpp"
#include "model/collective.hpp"

namespace linkscope::direct {

/// Elements of results that ports have looked at, and those that were not what they should be.
struct Outcome {
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
};

/// Elements of all members' results of one call (of int32).
inline std::uint64_t elements_received(const CollectiveShape& shape) {
  std::uint64_t elements = 0;
  for (int member = 0; member < shape.members; ++member)
    elements += shape.receives(member) ? shape.destination_bytes() / 4 : 0;
  return elements;
}

/// `calls` calls of each member, all its workers in launches of the same lengths; members of `absent` never start.
/// `port_of(member, worker)` makes a pointer to a port that has wrong() and checked(); `launch(port, repeats)` makes
/// calls.
template <class PortOf, class Launch>
Outcome run_members(int members, unsigned workers, std::uint64_t calls, MemberSet absent,
                    const PortOf& port_of, const Launch& launch) {
  std::vector<decltype(port_of(0, 0U))> ports;
  std::vector<std::thread> threads;
  for (int member = 0; member < members; ++member) {
    for (unsigned worker = 0; worker < workers && !holds(absent, member); ++worker) {
      ports.push_back(port_of(member, worker));
      threads.emplace_back([&launch, &port = *ports.back(), calls, member] {
        const std::uint64_t at_once = static_cast<std::uint64_t>(member) * 7 + 1;
        for (std::uint64_t done = 0; done < calls; done += at_once)
          launch(port, std::min(at_once, calls - done));
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  Outcome outcome;
  for (const auto& port : ports) {
    outcome.wrong += port->wrong();
    outcome.checked += port->checked();
  }
  return outcome;
}

}  // namespace linkscope::direct
