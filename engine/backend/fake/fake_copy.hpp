// FakeCopy: a copy that fails as its plan asks, so that tests can see what supervises an engine deal with it.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::fake {

/// One CPU thread copies host memory, for real. The parameter `inject` asks for a fault: crash ends the process, hang
/// never returns, corrupt damages a byte, error throws Error{broken}.
class FakeCopy final : public Method {
 public:
  explicit FakeCopy(std::shared_ptr<host::HostContext> context)
      : Method({"fake-copy", "a copy that fails as `inject` asks, for tests of supervisors"}),
        context_(std::move(context)) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  /// Throws Error{bad_input} for an `inject` that is none of crash, hang, corrupt and error.
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;

 private:
  std::shared_ptr<host::HostContext> context_;
};

}  // namespace linkscope::fake
