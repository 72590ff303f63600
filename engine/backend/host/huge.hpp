// huge: host memory in huge pages.
#pragma once

#include <memory>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// From the huge page pool (MAP_HUGETLB) where the node has enough free, else transparent huge pages by
/// madvise, checked in /proc/self/smaps. The row notes which it was.
class Huge final : public Memory {
 public:
  explicit Huge(std::shared_ptr<HostContext> context)
      : Memory({"huge", "host memory in huge pages: from the pool, else transparent ones", huge_traits}),
        context_(std::move(context)) {}

  [[nodiscard]] Support available() const override;
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
