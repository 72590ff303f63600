#include "backend/fake/fake_copy.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "backend/host/slot_transfer.hpp"
#include "base/error.hpp"

namespace linkscope::fake {
namespace {

enum class InjectedFault { none, crash, hang, corrupt, error };

InjectedFault injection_of(const Flow& flow) {
  static constexpr std::array<std::pair<const char*, InjectedFault>, 5> words{
      {{"none", InjectedFault::none},
       {"crash", InjectedFault::crash},
       {"hang", InjectedFault::hang},
       {"corrupt", InjectedFault::corrupt},
       {"error", InjectedFault::error}}};
  const std::string asked = flow.parameters.word("inject", "none");
  for (const auto& [word, injection] : words) {
    if (asked == word) return injection;
  }
  throw Error(Fault::bad_input, "inject is crash, hang, corrupt or error, not '" + asked + "'");
}

class FakeTransfer final : public host::SlotTransfer {
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
  }

 private:
  InjectedFault injection_;
};

}  // namespace

std::map<std::string, std::string> FakeCopy::parameters() const {
  return {{"inject", "crash, hang, corrupt or error: the fault to test with; default none"}};
}

Support FakeCopy::supports(const Flow& flow) const {
  if (!flow.source || !flow.destination) return Support::no("fake-copy needs a source and a destination");
  const Support loaded = context_->reachable(*flow.source);
  return loaded ? context_->reachable(*flow.destination) : loaded;
}

std::unique_ptr<Transfer> FakeCopy::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<FakeTransfer>(flow, arenas, injection_of(flow));
}

}  // namespace linkscope::fake
