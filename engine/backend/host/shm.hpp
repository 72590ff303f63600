// shm: host memory that other processes of this host can map.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

class Shm final : public Memory {
 public:
  explicit Shm(std::shared_ptr<HostContext> context)
      : Memory({"shm", "host memory that other processes of this host can map: shared, small pages",
                shm_traits}),
        context_(std::move(context)) {}

  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
