// The one table of traits, for real and modelled catalogs alike.
#include "model/traits.hpp"

#include <algorithm>
#include <array>

namespace linkscope {
namespace {

struct StatedMemory {
  std::string_view name;
  MemoryTraits traits;
};

struct StatedMethod {
  std::string_view name;
  MethodTraits traits;
};

constexpr std::array<StatedMemory, 12> stated_memories{{
    {"pageable", {.lies_on = Home::host, .system_pages = true}},
    {"huge", {.lies_on = Home::host, .system_pages = true, .huge_pages = true}},
    {"pinned", {.lies_on = Home::host}},
    {"registered", {.lies_on = Home::host, .registered = true}},
    {"write-combined", {.lies_on = Home::host, .uncached = true}},
    {"device", {.lies_on = Home::gpu, .plain_allocation = true}},
    {"managed", {.migrates = true}},
    {"pool", {.lies_on = Home::gpu}},
    {"vmm", {.lies_on = Home::gpu}},
    {"xccl", {.lies_on = Home::gpu}},
    {"fine-grained", {.plain_allocation = true}},
    {"coarse-grained", {.plain_allocation = true}},
}};

constexpr double by_page = 5;      // page by page, or through the driver
constexpr double host_fill = 20;   // by CPUs' stores
constexpr double tensor_fill = 1;  // by tensor operations
constexpr double linking = 1.2;    // a ring, linked and walked node by node in random order

constexpr std::array<StatedMethod, 22> stated_methods{{
    {"copy-engine", {.stages = true, .leaves_pages = true}},
    {"copy-engine-2d", {.stages = true, .leaves_pages = true}},
    {"copy-engine-3d", {.stages = true, .leaves_pages = true}},
    {"kernel-exchange", {.both_ways = true}},
    {"pointer-chase", {.dependent = true, .cpu_fill_gbps = linking}},
    {"ping-pong", {.dependent = true}},
    {"prefetch", {.migrates = true, .host_gbps = 15, .gpu_gbps = 15}},
    {"page-fault", {.migrates = true, .host_gbps = by_page, .gpu_gbps = by_page}},
    {"fault-chase", {.migrates = true, .dependent = true, .host_gbps = by_page, .gpu_gbps = by_page}},
    {"first-touch", {.host_gbps = 3, .gpu_gbps = 3}},
    {"allocate", {.host_gbps = by_page, .gpu_gbps = by_page}},
    {"free", {.host_gbps = by_page, .gpu_gbps = by_page}},
    {"register", {.host_gbps = by_page, .gpu_gbps = by_page}},
    {"mpi",
     {.stages = true,
      .by_mpi = true,
      .takes_empty = true,
      .answered = true,
      .host_gbps = 4,
      .gpu_gbps = 50,
      .fill_gbps = host_fill}},
    {"mpi-collective",
     {.stages = true, .by_mpi = true, .host_gbps = 1.5, .gpu_gbps = 20, .fill_gbps = host_fill}},
    {"xccl", {.stages = true}},
    {"xccl-collective", {.stages = true}},
    {"direct-collective", {.maps_members = true}},
    {"torch-copy", {.stages = true, .fill_gbps = tensor_fill, .calls = "copy-engine"}},
    {"torch-send",
     {.stages = true, .answered = true, .host_gbps = 1.5, .fill_gbps = tensor_fill, .calls = "xccl"}},
    {"torch-collective",
     {.stages = true, .host_gbps = 0.6, .fill_gbps = tensor_fill, .calls = "xccl-collective"}},
    {"torch-mpi",
     {.stages = true,
      .by_mpi = true,
      .takes_empty = true,
      .answered = true,
      .host_gbps = 4,
      .gpu_gbps = 50,
      .fill_gbps = tensor_fill,
      .calls = "mpi"}},
}};

template <class Row, std::size_t size>
auto traits_in(const std::array<Row, size>& rows, std::string_view name) {
  const auto* const found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? decltype(found->traits){} : found->traits;
}

}  // namespace

MemoryTraits standard_memory_traits(std::string_view name) { return traits_in(stated_memories, name); }

MethodTraits standard_method_traits(std::string_view name) { return traits_in(stated_methods, name); }

}  // namespace linkscope
