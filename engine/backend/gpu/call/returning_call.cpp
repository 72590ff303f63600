#include "backend/gpu/call/returning_call.hpp"

#include <algorithm>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/context.hpp"
#include "backend/gpu/transfer.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

class ReturningCall final : public CallTransfer {
 public:
  ReturningCall(std::shared_ptr<GpuContext> context, std::unique_ptr<Transfer> inner, GpuTransfer& work)
      : CallTransfer(std::move(context), work.device()), inner_(std::move(inner)), work_(work) {
    own_facts() = facts_until_return(work_.facts());
  }

  void arm(std::uint64_t seed) override {
    CallTransfer::arm(seed);
    work_.arm(seed);
  }
  void restore() override {
    CallTransfer::restore();
    work_.restore();
  }
  [[nodiscard]] std::optional<Mismatch> fault() const override { return work_.fault(); }
  [[nodiscard]] Bytes verified_bytes() const override { return work_.verified_bytes(); }
  void flush() override { work_.flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> found = work_.notes();
    found.emplace_back(
        "the time until the call returns, by the host clock: what it sets going may take longer");
    return found;
  }

 private:
  gpuError_t call(std::uint64_t repeats) noexcept override {
    try {
      // One by one: a transfer may make one launch of what it is asked for at once.
      for (std::uint64_t i = 0; i < repeats; ++i) work_.enqueue(stream(), 1);
      return gpuSuccess;
    } catch (...) {
      const gpuError_t last = gpuGetLastError();
      return last == gpuSuccess ? gpuErrorUnknown : last;
    }
  }
  [[nodiscard]] std::optional<Mismatch> check(std::uint64_t seed) const override {
    return work_.verify(seed);
  }

  std::unique_ptr<Transfer> inner_;
  GpuTransfer& work_;  ///< what inner_ holds
};

}  // namespace

std::map<std::string, std::string> until_parameters() {
  return {{"until",
           "end (default): the work is done; return: the asynchronous call is back, by the host clock on "
           "either clock"}};
}

Until wanted_until(const Parameters& parameters) {
  const std::string word = parameters.word("until", "end");
  if (word == "end") return Until::end;
  if (word == "return") return Until::call_returns;
  throw Error(Fault::bad_input, "parameter until: '" + word + "' is neither end nor return");
}

std::unique_ptr<Transfer> time_until_return(std::shared_ptr<GpuContext> context,
                                            std::unique_ptr<Transfer> inner) {
  auto* const work = dynamic_cast<GpuTransfer*>(inner.get());
  if (work == nullptr) throw Error(Fault::unsupported, "until return: no call sets this work going on a GPU");
  if (work->enqueueing() == Enqueue::blocks)
    throw Error(Fault::unsupported,
                "until return: this call is back only when the work is done, or nearly so");
  return std::make_unique<ReturningCall>(std::move(context), std::move(inner), *work);
}

}  // namespace linkscope::gpu
