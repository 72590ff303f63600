// pageable: what malloc gives.
#pragma once

#include <memory>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// Anonymous memory under the system's own policy for transparent huge pages, because that is what an
/// application's malloc gets; the row notes how much of it lay in huge pages. To be sure of huge pages, ask
/// for `huge`.
class Pageable final : public Memory {
 public:
  explicit Pageable(std::shared_ptr<HostContext> context)
      : Memory({"pageable", "what malloc gives: ordinary pages of the system", pageable_traits}),
        context_(std::move(context)) {}

  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
