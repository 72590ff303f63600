// MemoryRoom: how much more memory this process can take, so that it refuses before the kernel kills.
#pragma once

#include <optional>

#include "base/units.hpp"

namespace linkscope::host {

/// Bounds of different worth. A cgroup's limit and the memory present are certain: what does not fit there
/// never will. What the system calls available is a hint: on some virtual machines it grows as memory is
/// used. Allocations are therefore checked against the first at once, and against the second step by step
/// while pages are touched (see PageMapping::touch), with `wait_for` giving such a machine time to grow.
class MemoryRoom {
 public:
  /// Left under the tightest memory cgroup (v1 or v2) this process is in, counting page cache as free;
  /// nothing where none is limited.
  [[nodiscard]] static std::optional<Bytes> cgroup_room();
  /// Returns what the system says is available on a NUMA node at this moment (page cache counted as free). Nothing where
  /// it says nothing.
  [[nodiscard]] static std::optional<Bytes> available_on(int node);
  /// Returns the memory of a node, or of all, by its zones: no allocation can be larger. /sys/.../meminfo counts only what
  /// the kernel has taken over so far, which on some virtual machines is little at first. Nothing where the system says
  /// nothing.
  [[nodiscard]] static std::optional<Bytes> present(std::optional<int> node = std::nullopt);
  /// The smaller of cgroup_room() and what is available machine-wide: for `describe` and for planning.
  [[nodiscard]] static std::optional<Bytes> now();

  /// Waits up to half a second until `bytes` and a reserve are available, on `node` if one is given.
  /// Throws Error{no_memory} where they are not.
  static void wait_for(Bytes bytes, std::optional<int> node);
};

}  // namespace linkscope::host
