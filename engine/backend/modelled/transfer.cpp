#include "backend/modelled/transfer.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"

namespace linkscope::modelled {

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

std::vector<std::string> ModelledTransfer::notes() const {
  if (verified_bytes() >= bytes_) return {};
  return {"of " + format_bytes(bytes_) + " the first " + format_bytes(verified_bytes()) +
          " are real memory, moved and verified; the rest is modelled"};
}

}  // namespace linkscope::modelled
