// fake-copy: a copy that fails as its plan asks, so that tests can see what supervises an engine deal with it.
#include "backend/host/backend.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "backend/host/slot_transfer.hpp"
#include "base/error.hpp"

namespace linkscope::host {
namespace {

/// In the order of the parameter's words.
enum class InjectedFault { none, crash, hang, corrupt, error };

constexpr Parameter inject = word("inject", "none|crash|hang|corrupt|error", "the fault to test with");

class FakeTransfer final : public SlotTransfer {
 public:
  FakeTransfer(const Flow& flow, const Arenas& arenas, InjectedFault injection)
      : SlotTransfer(flow, arenas), injection_(injection) {}

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    if (injection_ == InjectedFault::crash) std::abort();
    while (injection_ == InjectedFault::hang) std::this_thread::sleep_for(std::chrono::hours(1));
    std::byte* const to = arenas().destination->data();
    const std::byte* const from = arenas().source->data();
    sweep(part, first, repeats,
          [=](Bytes offset, Bytes size) { std::memcpy(to + offset, from + offset, size); });
    if (injection_ == InjectedFault::corrupt) to[bytes() / 2] ^= std::byte{1};
  }
  void rethrow() override {
    if (injection_ == InjectedFault::error)
      throw Error(Fault::broken, "the flow asked for an error (inject)");
    SlotTransfer::rethrow();
  }

 private:
  InjectedFault injection_;
};

}  // namespace

Method fake_copy(const std::shared_ptr<HostContext>& context) {
  return {.spec = {"fake-copy", "a copy that fails as `inject` asks, for tests of supervisors"},
          .parameters = {inject},
          .supports =
              [context](const Flow& flow) {
                if (!flow.source || !flow.destination)
                  return Support::no("fake-copy needs a source and a destination");
                const Support loaded = context->reachable(*flow.source);
                return loaded ? context->reachable(*flow.destination) : loaded;
              },
          .prepare =
              [](const Flow& flow, const Arenas& arenas) {
                return std::make_unique<FakeTransfer>(flow, arenas,
                                                      flow.parameters.choice<InjectedFault>(inject));
              }};
}

}  // namespace linkscope::host
