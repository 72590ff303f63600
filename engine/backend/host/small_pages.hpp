// SmallPages: the memories that are pages of the system's own choice: pageable, and shm.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "backend/host/page_mapping.hpp"
#include "model/method.hpp"

namespace linkscope::host {

class SmallPages final : public Memory {
 public:
  /// Under the system's own policy for transparent huge pages, because that is what an application's malloc gets; the
  /// row notes how much of it lay in huge pages. To be sure of huge pages, ask for `huge`.
  [[nodiscard]] static std::unique_ptr<SmallPages> pageable(std::shared_ptr<HostContext> context);
  [[nodiscard]] static std::unique_ptr<SmallPages> shm(std::shared_ptr<HostContext> context);

  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Endpoint& where) const override;
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override;

 private:
  SmallPages(const MemorySpec& spec, std::shared_ptr<HostContext> context, Pages pages)
      : Memory(spec), context_(std::move(context)), pages_(pages) {}

  std::shared_ptr<HostContext> context_;
  Pages pages_;
};

}  // namespace linkscope::host
