// Walks the nodes of a graph.
#include "backend/gpu/graph/recorded_work.hpp"

#include <algorithm>
#include <cstddef>

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {
namespace {

/// "kernel" from "_Z6kernelPi": the driver gives C++ names as compilers write them.
std::string plain_name(const std::string& name) {
  const auto digits = name.find_first_not_of("0123456789", 2);
  if (!name.starts_with("_Z") || digits == 2 || digits == std::string::npos) return name;
  return name.substr(digits, std::stoul(name.substr(2, digits - 2)));
}

}  // namespace

std::string RecordedWork::text() const {
  std::string all;
  for (const std::string& kernel : kernels) all += (all.empty() ? "" : ", ") + kernel;
  if (!kernels.empty()) return all + ", " + std::to_string(blocks) + (blocks == 1 ? " CTA" : " CTAs");
  return "copies by copy engines";
}

RecordedWork work_of(gpuGraph_t graph) {
  std::size_t count = 0;
  LINKSCOPE_CHECK(gpuGraphGetNodes(graph, nullptr, &count));
  std::vector<gpuGraphNode_t> nodes(count);
  LINKSCOPE_CHECK(gpuGraphGetNodes(graph, nodes.data(), &count));
  RecordedWork work;
  for (gpuGraphNode_t node : nodes) {
    gpuGraphNodeType type{};
    if (gpuGraphNodeGetType(node, &type) != gpuSuccess) {  // CUDA's runtime has no type for writes of words
      static_cast<void>(gpuGetLastError());
      continue;
    }
    if (type == gpuGraphNodeTypeMemcpy) ++work.copies;
    if (type != gpuGraphNodeTypeKernel) continue;
    const char* name = nullptr;
    unsigned int blocks = 0;
    if (vendor::kernel_of(node, &name, &blocks) != gpuSuccess || name == nullptr) return {};
    if (work.kernels.empty()) work.blocks = blocks;
    const std::string plain = plain_name(name);
    if (std::find(work.kernels.begin(), work.kernels.end(), plain) == work.kernels.end())
      work.kernels.push_back(plain);
  }
  return work;
}

}  // namespace linkscope::gpu
