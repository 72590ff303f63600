#include "backend/host/backend.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "backend/host/memory_room.hpp"
#include "backend/host/page_mapping.hpp"

namespace linkscope::host {

namespace {

std::map<std::string, std::string> versions() {
  std::map<std::string, std::string> found;
  utsname names{};
  if (uname(&names) == 0) {
    found["kernel"] = names.release;
    found["architecture"] = names.machine;
  }
  found["libc"] = std::string("glibc ") + gnu_get_libc_version();
#if defined(__clang__)
  found["compiler"] = "clang " __clang_version__;
#else
  found["compiler"] = "gcc " __VERSION__;
#endif
  return found;
}

void add_bytes(DeviceFacts& facts, const std::string& name, Bytes bytes) {
  if (bytes > 0) facts.attributes[name] = std::to_string(bytes);
}

std::string distances_text(const Node& node) {
  std::string text;
  for (const auto& [other, distance] : node.distances) {
    text += (text.empty() ? "numa:" : " numa:") + std::to_string(other) + "=" + std::to_string(distance);
  }
  return text;
}

DeviceFacts describe(const Node& node, const std::string& cpu_name) {
  DeviceFacts facts;
  facts.id = {DeviceKind::numa, node.index};
  facts.name = node.cpus.empty() ? "memory without CPUs" : cpu_name;
  facts.memory_bytes = node.memory_bytes;
  facts.numa = node.index;
  facts.cpus = node.cpus;
  std::sort(facts.cpus.begin(), facts.cpus.end());
  add_bytes(facts, "l1_bytes", node.l1_bytes);
  add_bytes(facts, "l2_bytes", node.l2_bytes);
  add_bytes(facts, "llc_bytes", node.llc_bytes);
  add_bytes(facts, "page_bytes", static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
  add_bytes(facts, "available_bytes",
            MemoryRoom::available_on(node.index).value_or(MemoryRoom::now().value_or(0)));
  if (const Bytes huge = huge_page_bytes(); huge > 0) {
    add_bytes(facts, "huge_page_bytes", huge);
    facts.attributes["huge_pages_free"] = std::to_string(free_huge_bytes(node.index) / huge);
  }
  if (const std::string policy = transparent_huge_policy(); !policy.empty())
    facts.attributes["transparent_huge_pages"] = policy;
  facts.attributes["distances"] = distances_text(node);
  return facts;
}

}  // namespace

HostBackend open() {
  HostBackend opened;
  opened.context = std::make_shared<HostContext>();
  opened.backend.name = "host";
  opened.backend.versions = versions();
  const Topology& topology = opened.context->topology();
  for (const Node& node : topology.nodes())
    opened.backend.devices.push_back(describe(node, topology.cpu_name()));
  opened.backend.gate = host_gate(opened.context);
  return opened;
}

}  // namespace linkscope::host
