// MpiTransfer: one thread's calls of MPI; what the gate starts for both MPI methods.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/host_transfer.hpp"
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

/// The partners meet before each start and after it, outside the time, and the transfer stamps itself from there on: no
/// figure holds the time that one process waited for another to open its gate. After a failure it calls MPI no more.
class MpiTransfer : public host::HostTransfer {
 public:
  /// `session` outlives the transfer.
  MpiTransfer(MpiRuntime& session, const Caller& caller);

  [[nodiscard]] host::Worker* own_worker() override { return session_->worker(); }
  void expect(Clock clock) override;
  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept final;
  /// Its own stamps; the length is the sum of the timed pieces.
  [[nodiscard]] Span counted(const Span& span) final;
  /// Throws Error{broken} with MPI's words, or the GPU vendor's.
  void rethrow() override;
  /// Which library it was.
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  /// Meets the partners and carries out the repeats. Its span, or nothing after fail().
  [[nodiscard]] virtual std::optional<Span> carry_out(std::uint64_t first,
                                                      std::uint64_t repeats) noexcept = 0;
  /// Takes note of a code other than 0 and of the call that gave it; true where there is one.
  bool failed(int code, const char* call) noexcept;
  /// The same for a code of the GPUs' runtime.
  bool runtime_failed(int code) noexcept;

  [[nodiscard]] const MpiFunctions& mpi() const { return session_->functions(); }
  [[nodiscard]] MpiRuntime& session() const { return *session_; }
  [[nodiscard]] Clock clock() const { return clock_; }

 private:
  MpiRuntime* session_;
  Caller caller_;
  std::shared_ptr<void> turn_;
  Clock clock_ = Clock::host;
  bool begun_ = false;  ///< this start's measured repeats; what follows is its tail
  std::optional<Span> span_;
  int code_ = 0;
  const char* call_ = "";
  int runtime_code_ = 0;
};

}  // namespace linkscope::mpi
