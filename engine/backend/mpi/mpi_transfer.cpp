#include "backend/mpi/mpi_transfer.hpp"

namespace linkscope::mpi {

MpiTransfer::MpiTransfer(MpiRuntime& session, const Caller& caller)
    : StampedTransfer(caller.node), session_(&session), caller_(caller), turn_(session.turn()) {
  if (caller_.hands_over) session.visit(caller_.device);
}

std::optional<Span> MpiTransfer::carry_out(std::uint64_t first, std::uint64_t repeats) noexcept {
  const bool able = code_ == 0 && runtime_code_ == 0 &&
                    !(caller_.gpus != nullptr && runtime_failed(caller_.gpus->use(caller_.device)));
  return able ? make_calls(first, repeats) : std::nullopt;
}

void MpiTransfer::rethrow() {
  if (runtime_code_ != 0) throw caller_.gpus->failure(runtime_code_);
  if (code_ != 0) session_->in_its_thread([&] { throw session_->failure(code_, call_); });
}

bool MpiTransfer::runtime_failed(int code) noexcept {
  if (runtime_code_ == 0) runtime_code_ = code;
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
  std::vector<std::string> notes{"by " + session_->version()};
  if (std::string threads = session_->threads(); !threads.empty()) notes.push_back(std::move(threads));
  std::string away = caller_.hands_over ? session_->away_from_home(caller_.device) : "";
  if (!away.empty()) notes.push_back(std::move(away));
  return notes;
}

}  // namespace linkscope::mpi
