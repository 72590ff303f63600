// MigratingTransfer: what transfers by GPUs and by CPUs that have pages migrate have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/migration/migrating_slots.hpp"

namespace linkscope::gpu {

/// `Base`: GpuTransfer or host::HostTransfer. `Pages`: a Check with slots() of its own, and with find_wrong(transfers,
/// found), which says what is wrong with what the work itself found, as a sum.
template <class Base, class Pages>
class MigratingTransfer : public Base {
 public:
  template <class... Arguments>
  explicit MigratingTransfer(std::unique_ptr<Pages> pages, Arguments... arguments)
      : Base(arguments...), pages_(*pages) {
    this->set_check(std::move(pages));
  }

  void restore() override { pages_.slots().bring_home(this->transfers()); }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    const auto wrong = pages_.find_wrong(this->transfers(), found());
    return wrong ? wrong : Base::verify(seed);
  }
  [[nodiscard]] std::vector<std::string> notes() const override { return pages_.slots().notes(); }

 protected:
  /// The sum of all that the work found since arm().
  [[nodiscard]] virtual std::uint64_t found() const = 0;
  [[nodiscard]] const Pages& pages() const { return pages_; }

 private:
  Pages& pages_;  ///< this transfer's check
};

/// The row of a method whose transfers have pages migrate.
[[nodiscard]] Method migration_row(const std::shared_ptr<GpuContext>& context, const MethodSpec& spec,
                                   std::vector<Parameter> parameters, AskGpus supports, MakeTransfer make);

/// Makes transfers of the one class or the other, as the executor is a GPU or a CPU.
template <class ByGpu, class ByCpu>
std::unique_ptr<Transfer> make_by_executor(const std::shared_ptr<GpuContext>& context, const Flow& flow,
                                           const Arenas& arenas) {
  if (flow.executor.kind == DeviceKind::gpu) return std::make_unique<ByGpu>(context, flow, arenas);
  return std::make_unique<ByCpu>(context, flow, arenas);
}

}  // namespace linkscope::gpu
