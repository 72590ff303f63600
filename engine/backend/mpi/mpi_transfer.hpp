// MpiTransfer: one thread's calls of MPI; what the gate starts for both MPI methods.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/stamped_transfer.hpp"
#include "backend/mpi/mpi_runtime.hpp"
#include "model/gpu_runtime.hpp"

namespace linkscope::mpi {

/// The thread that calls MPI.
struct Caller {
  int node = 0;                ///< it runs on a CPU of this one
  DeviceId device;             ///< whose memory it works with
  GpuRuntime* gpus = nullptr;  ///< null unless that is a GPU
  bool hands_over = true;      ///< MPI is given that memory itself
};

/// After a failure it calls MPI no more.
class MpiTransfer : public host::StampedTransfer {
 public:
  /// `runtime` outlives the transfer.
  MpiTransfer(MpiRuntime& runtime, const Caller& caller);

  [[nodiscard]] host::Worker* own_worker() override { return runtime_->worker(); }
  /// Throws Error{broken} with MPI's words, or the GPU vendor's.
  void rethrow() override;
  /// Which library it was.
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  [[nodiscard]] std::optional<Span> carry_out(std::uint64_t first, std::uint64_t repeats) noexcept final;
  /// Meets the partners and makes the repeats' calls. Their span, or nothing after failed().
  [[nodiscard]] virtual std::optional<Span> make_calls(std::uint64_t first,
                                                       std::uint64_t repeats) noexcept = 0;
  /// Takes note of a code other than 0 and of the call that gave it; true where there is one.
  bool failed(int code, const char* call) noexcept;
  /// The same for a code of the GPUs' runtime.
  bool gpu_failed(int code) noexcept;

  [[nodiscard]] const MpiFunctions& mpi() const { return runtime_->functions(); }
  [[nodiscard]] MpiRuntime& runtime() const { return *runtime_; }

 private:
  MpiRuntime* runtime_;
  Caller caller_;
  std::shared_ptr<void> turn_;
  int code_ = 0;
  const char* call_ = "";
  int gpu_code_ = 0;
};

}  // namespace linkscope::mpi
