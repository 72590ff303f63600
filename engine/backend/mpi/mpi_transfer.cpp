#include "backend/mpi/mpi_transfer.hpp"

namespace linkscope::mpi {

MpiTransfer::MpiTransfer(MpiRuntime& runtime, const Caller& caller)
    : StampedTransfer(caller.node), runtime_(&runtime), caller_(caller), turn_(runtime.turn()) {
  if (caller_.hands_over) runtime.visit(caller_.device);
}

std::optional<Span> MpiTransfer::carry_out(std::uint64_t first, std::uint64_t repeats) noexcept {
  const bool able = code_ == 0 && gpu_code_ == 0 &&
                    !(caller_.gpus != nullptr && gpu_failed(caller_.gpus->use(caller_.device)));
  return able ? make_calls(first, repeats) : std::nullopt;
}

void MpiTransfer::rethrow() {
  if (gpu_code_ != 0) throw caller_.gpus->failure(gpu_code_);
  if (code_ != 0) runtime_->in_its_thread([&] { throw runtime_->failure(code_, call_); });
}

bool MpiTransfer::gpu_failed(int code) noexcept {
  if (gpu_code_ == 0) gpu_code_ = code;
  return code != 0;
}

bool MpiTransfer::failed(int code, const char* call) noexcept {
  if (code == 0) return false;
  if (code_ == 0) {
    code_ = code;
    call_ = call;
  }
  return true;
}

std::vector<std::string> MpiTransfer::notes() const {
  std::vector<std::string> notes{"by " + runtime_->version()};
  if (std::string threads = runtime_->threads(); !threads.empty()) notes.push_back(std::move(threads));
  std::string away = caller_.hands_over ? runtime_->away_from_home(caller_.device) : "";
  if (!away.empty()) notes.push_back(std::move(away));
  return notes;
}

}  // namespace linkscope::mpi
