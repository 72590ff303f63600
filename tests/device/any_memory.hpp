// A test for each memory of the GPU backend: their names, and a buffer of the one at hand.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "open_gpus.hpp"

namespace linkscope::testing {

inline constexpr std::array<const char*, 12> memories = {
    "device", "pinned", "registered", "write-combined", "managed",      "pool",
    "vmm",    "xccl",   "pageable",   "huge",           "fine-grained", "coarse-grained"};

class WithMemory : public WithGpus, public ::testing::WithParamInterface<const char*> {
 protected:
  /// 3 MiB; null where this machine has no such memory.
  [[nodiscard]] std::unique_ptr<Buffer> allocate() const {
    const Memory& kind = memory(GetParam());
    if (!kind.available() || !kind.supports(at(GetParam()))) return nullptr;
    return kind.allocate(at(GetParam()), 3 * MiB);
  }
};

/// "write-combined" as the name of a test: without the hyphen.
inline std::string memory_test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
}

}  // namespace linkscope::testing
