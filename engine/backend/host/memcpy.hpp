// memcpy: the C library's copy, by one or more CPU threads.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// Each thread copies one contiguous share, cut at cache lines, with one call of memcpy per repeat.
class Memcpy final : public ClassMethod {
 public:
  explicit Memcpy(std::shared_ptr<HostContext> context)
      : ClassMethod({"memcpy", "the C library's memcpy by CPU threads"}), context_(std::move(context)) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
