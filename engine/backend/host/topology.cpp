#include "backend/host/topology.hpp"

#include <numa.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "backend/host/memory_room.hpp"
#include "backend/host/sysfs.hpp"
#include "base/error.hpp"

namespace linkscope::host {

namespace {

std::string cpu_directory(int cpu) { return "/sys/devices/system/cpu/cpu" + std::to_string(cpu); }

/// 0 for the first thread of a core, 1 for its second...
int thread_of_core(int cpu) {
  const auto siblings =
      parse_list(read_line(cpu_directory(cpu) + "/topology/thread_siblings_list").value_or(""));
  const auto at = std::find(siblings.begin(), siblings.end(), cpu);
  return at == siblings.end() ? 0 : static_cast<int>(at - siblings.begin());
}

void cores_first(std::vector<int>& cpus) {
  std::map<int, int> rank;
  for (int cpu : cpus) rank[cpu] = thread_of_core(cpu);
  std::stable_sort(cpus.begin(), cpus.end(), [&](int a, int b) { return rank[a] < rank[b]; });
}

void read_caches(Node& node) {
  std::set<std::string> counted;
  for (int cpu : node.cpus) {
    std::optional<Bytes> last_level;
    Bytes last_bytes = 0;
    std::string shared_by;
    for (int index = 0;; ++index) {
      const std::string directory = cpu_directory(cpu) + "/cache/index" + std::to_string(index);
      const auto type = read_line(directory + "/type");
      if (!type) break;
      if (*type == "Instruction") continue;
      const Bytes level = read_bytes(directory + "/level").value_or(0);
      const Bytes bytes = read_bytes(directory + "/size").value_or(0);
      if (level == 1) node.l1_bytes = std::max(node.l1_bytes, bytes);
      if (level == 2) node.l2_bytes = std::max(node.l2_bytes, bytes);
      if (last_level && level <= *last_level) continue;
      last_level = level;
      last_bytes = bytes;
      shared_by = read_line(directory + "/shared_cpu_list").value_or(std::to_string(cpu));
    }
    if (last_level && counted.insert(shared_by).second) node.llc_bytes += last_bytes;
  }
}

/// Returns what /proc/cpuinfo says first behind a key that begins with one of `keys`; empty where it has none.
std::string cpu_fact(std::initializer_list<const char*> keys) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto begins = [&](const char* key) { return line.starts_with(key); };
    if (std::none_of(keys.begin(), keys.end(), begins)) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

Node whole_machine(std::vector<int> cpus) {
  Node node;
  node.cpus = std::move(cpus);
  node.memory_bytes = read_keyed("/proc/meminfo", "MemTotal").value_or(0);
  node.distances[0] = 10;
  return node;
}

std::vector<Node> numa_nodes(const std::vector<int>& allowed) {
  std::vector<Node> nodes;
  const std::unique_ptr<bitmask, void (*)(bitmask*)> cpus(numa_allocate_cpumask(), numa_free_cpumask);
  for (int index = 0; index <= numa_max_node(); ++index) {
    long long free_bytes = 0;
    const long long bytes = numa_node_size64(index, &free_bytes);
    if (bytes < 0 || numa_node_to_cpus(index, cpus.get()) != 0) continue;  // a hole in the numbering
    Node node;
    node.index = index;
    node.memory_bytes = bytes == 0 ? 0 : MemoryRoom::present(index).value_or(static_cast<Bytes>(bytes));
    node.usable_memory = numa_bitmask_isbitset(numa_all_nodes_ptr, static_cast<unsigned>(index)) != 0;
    for (int cpu : allowed) {
      if (numa_bitmask_isbitset(cpus.get(), static_cast<unsigned>(cpu)) != 0) node.cpus.push_back(cpu);
    }
    nodes.push_back(std::move(node));
  }
  for (Node& node : nodes) {
    for (const Node& other : nodes) node.distances[other.index] = numa_distance(node.index, other.index);
  }
  return nodes;
}

}  // namespace

Topology Topology::read() {
  std::vector<int> allowed = CpuSet::of_this_thread().cpus();
  if (allowed.empty()) throw Error(Fault::broken, "this process may run on no CPU");
  std::vector<Node> nodes;
  if (numa_available() >= 0) nodes = numa_nodes(allowed);
  const bool placed =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return !node.cpus.empty(); });
  if (!placed) nodes = {whole_machine(std::move(allowed))};
  for (Node& node : nodes) {
    cores_first(node.cpus);
    read_caches(node);
  }
  const std::string name = cpu_fact({"model name", "cpu\t"});  // x86; POWER; Arm names no model here
  const bool guest = (cpu_fact({"flags"}) + ' ').find(" hypervisor ") != std::string::npos;
  return {std::move(nodes), name.empty() ? "CPU" : name, guest};
}

const Node* Topology::find(int index) const {
  const auto at =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.index == index; });
  return at == nodes_.end() ? nullptr : &*at;
}

const Node& Topology::nearest_with_cpus(int index) const {
  const Node* const from = find(index);
  const auto distance = [&](const Node& node) {
    if (node.index == index) return 0;
    return from != nullptr && from->distances.contains(node.index) ? from->distances.at(node.index) : INT_MAX;
  };
  const Node* nearest = nullptr;
  for (const Node& node : nodes_) {
    if (node.cpus.empty()) continue;
    if (nearest == nullptr || distance(node) < distance(*nearest)) nearest = &node;
  }
  if (nearest == nullptr) throw Error(Fault::broken, "no NUMA node has a CPU this process may use");
  return *nearest;
}

CpuSet::CpuSet(const std::vector<int>& cpus) {
  const auto highest = std::max_element(cpus.begin(), cpus.end());
  const int most = highest == cpus.end() ? 0 : std::max(*highest, 0);
  sets_.resize(static_cast<std::size_t>(most) / CPU_SETSIZE + 1, cpu_set_t{});
  for (const int cpu : cpus) {
    if (cpu >= 0) CPU_SET_S(static_cast<std::size_t>(cpu), size(), sets_.data());
  }
}

CpuSet CpuSet::of_this_thread() {
  constexpr std::size_t most_sets = 1024;
  CpuSet set;
  for (std::size_t sets = 1; sets <= most_sets; sets *= 2) {
    set.sets_.assign(sets, cpu_set_t{});
    if (sched_getaffinity(0, set.size(), set.sets_.data()) == 0) return set;
    if (errno != EINVAL) break;  // it says that the kernel's set is longer
  }
  throw Error(Fault::broken, std::string("sched_getaffinity: ") + std::strerror(errno));
}

std::vector<int> CpuSet::cpus() const {
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < 8 * size(); ++cpu) {
    if (CPU_ISSET_S(cpu, size(), sets_.data())) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

int CpuSet::keep(pthread_t thread) const { return pthread_setaffinity_np(thread, size(), sets_.data()); }

void keep_to(const std::vector<int>& cpus) {
  if (!cpus.empty()) static_cast<void>(CpuSet(cpus).keep(pthread_self()));
}

}  // namespace linkscope::host
