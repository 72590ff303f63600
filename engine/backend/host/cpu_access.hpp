// cpu-read and cpu-write: loads and stores of CPU threads, without a copy around them.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/context.hpp"
#include "model/method.hpp"

namespace linkscope::host {

/// Threads sum all words of the source, with the widest vectors of the CPU. The sum is checked against the pattern's.
class CpuRead final : public ClassMethod {
 public:
  explicit CpuRead(std::shared_ptr<HostContext> context)
      : ClassMethod({"cpu-read", "CPU threads load and sum the source"}), context_(std::move(context)) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

/// Threads write the pattern into the destination, generated in registers on the way (an addition, a shift and an
/// exclusive or for each vector).
class CpuWrite final : public ClassMethod {
 public:
  explicit CpuWrite(std::shared_ptr<HostContext> context)
      : ClassMethod({"cpu-write", "CPU threads store to the destination"}), context_(std::move(context)) {}

  [[nodiscard]] std::map<std::string, std::string> parameters() const override;
  [[nodiscard]] Support available() const override { return Support::yes(); }
  [[nodiscard]] Support supports(const Flow& flow) const override;
  [[nodiscard]] std::unique_ptr<Transfer> prepare(const Flow& flow, const Arenas& arenas) const override;
  [[nodiscard]] Bytes rotation_bytes(const Flow& flow) const override;

 private:
  std::shared_ptr<HostContext> context_;
};

}  // namespace linkscope::host
