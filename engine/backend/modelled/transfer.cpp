#include "backend/modelled/transfer.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace linkscope::modelled {

Injection injection_of(const Flow& flow) {
  static constexpr std::array<std::pair<const char*, Injection>, 5> words{{{"none", Injection::none},
                                                                           {"crash", Injection::crash},
                                                                           {"hang", Injection::hang},
                                                                           {"corrupt", Injection::corrupt},
                                                                           {"error", Injection::error}}};
  const std::string asked = flow.parameters.word("inject", "none");
  for (const auto& [word, injection] : words) {
    if (asked == word) return injection;
  }
  throw Error(Fault::bad_input, "inject is crash, hang, corrupt or error, not '" + asked + "'");
}

void ModelledTransfer::move() {
  switch (injection_) {
    case Injection::crash:
      std::abort();
    case Injection::hang:
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    case Injection::error:
      throw Error(Fault::broken, "the flow asked for an error (inject)");
    case Injection::corrupt:
      payload_->move();
      payload_->spoil();
      return;
    case Injection::none:
      payload_->move();
  }
}

}  // namespace linkscope::modelled
