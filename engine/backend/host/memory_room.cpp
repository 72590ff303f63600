#include "backend/host/memory_room.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "backend/host/sysfs.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

/// Left for the rest of the system and for page tables; the kernel reclaims slowly below it.
constexpr Bytes reserve = 256 * MiB;
/// cgroup v1 writes "no limit" as the largest number of pages.
constexpr Bytes no_limit = Bytes{1} << 62U;

/// The path of this process in the hierarchy whose controllers field is `controllers` ("" is v2).
std::optional<std::string> cgroup_path(const std::string& controllers) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controllers) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct CgroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
  const char* inactive;  ///< key in memory.stat of page cache that can be dropped at once
};

/// The smallest room of any group from `path` up to the hierarchy's root.
std::optional<Bytes> room_below(const CgroupFiles& files, std::string path) {
  std::optional<Bytes> room;
  while (true) {
    const std::string directory = files.root + path + "/";
    const auto limit = read_bytes(directory + files.limit);
    if (limit && *limit < no_limit) {
      const Bytes usage = read_bytes(directory + files.usage).value_or(0);
      const Bytes cache = read_keyed(directory + "memory.stat", files.inactive).value_or(0);
      const Bytes held = usage - std::min(usage, cache);
      const Bytes left = *limit - std::min(*limit, held);
      room = std::min(room.value_or(left), left);
    }
    if (path.empty() || path == "/") return room;
    path.erase(path.rfind('/'));
  }
}

struct Zones {
  Bytes present = 0;  ///< there
  Bytes managed = 0;  ///< taken over by the allocator
};

/// Sums what /proc/zoneinfo says of the zones of a node, or of all nodes.
std::optional<Zones> read_zones(std::optional<int> node) {
  std::ifstream file("/proc/zoneinfo");
  const std::string header = node ? "Node " + std::to_string(*node) + "," : "Node ";
  const auto page = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  std::optional<Zones> zones;
  bool ours = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Node ")) {
      ours = line.starts_with(header);
      if (ours && !zones) zones.emplace();
    }
    std::istringstream words(line);
    std::string key;
    Bytes pages = 0;
    if (!ours || !(words >> key >> pages)) continue;
    if (key == "present") zones->present += pages * page;
    if (key == "managed") zones->managed += pages * page;
  }
  return zones;
}

/// Memory of a node that the kernel will take over when the rest is used up. It keeps some three percent of
/// all memory to itself for good, so only more than that counts.
Bytes not_taken_over(int node) {
  const Zones zones = read_zones(node).value_or(Zones{});
  const Bytes kept = zones.present / 32;
  return zones.present - std::min(zones.present, zones.managed + kept);
}

std::optional<Bytes> smaller(std::optional<Bytes> a, std::optional<Bytes> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::optional<Bytes> MemoryRoom::cgroup_room() {
  std::optional<Bytes> room;
  if (const auto path = cgroup_path("")) {
    room = room_below({"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}, *path);
  }
  if (const auto path = cgroup_path("memory")) {
    room = smaller(room, room_below({"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                     "memory.usage_in_bytes", "total_inactive_file"},
                                    *path));
  }
  return room;
}

std::optional<Bytes> MemoryRoom::present(std::optional<int> node) {
  if (const auto zones = read_zones(node)) return zones->present;
  return std::nullopt;
}

std::optional<Bytes> MemoryRoom::available_on(int node) {
  const std::string path = "/sys/devices/system/node/node" + std::to_string(node) + "/meminfo";
  const auto unused = read_keyed(path, "MemFree");
  if (!unused) return std::nullopt;
  return *unused + not_taken_over(node) + read_keyed(path, "Active(file)").value_or(0) +
         read_keyed(path, "Inactive(file)").value_or(0) + read_keyed(path, "SReclaimable").value_or(0);
}

std::optional<Bytes> MemoryRoom::now() {
  return smaller(cgroup_room(), read_keyed("/proc/meminfo", "MemAvailable"));
}

void MemoryRoom::wait_for(Bytes bytes, std::optional<int> node) {
  constexpr int attempts = 10;
  std::optional<Bytes> room;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    room = now();
    if (node) room = smaller(room, available_on(*node));
    if (!room || *room >= bytes + reserve) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw Error(Fault::no_memory, format_bytes(bytes) + " more do not fit: " + format_bytes(*room) +
                                    " available" + (node ? " on numa:" + std::to_string(*node) : "") + ", " +
                                    format_bytes(reserve) + " are kept free");
}

}  // namespace linkscope::host
