// MpiTransfer: one thread's calls of MPI; what the gate starts for both MPI methods.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/stamped_transfer.hpp"
#include "backend/mpi/mpi_runtime.hpp"
#include "model/flow_part.hpp"
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
  /// Takes back what the partners have made together: collective over them (PreparedParts::finish).
  virtual void finish() {}
  /// Names the library and how it was called.
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  [[nodiscard]] std::optional<Span> carry_out(std::uint64_t first, std::uint64_t repeats) noexcept final;
  /// Meets the partners and makes the repeats' calls. Their span, or nothing after failed().
  [[nodiscard]] virtual std::optional<Span> make_calls(std::uint64_t first,
                                                       std::uint64_t repeats) noexcept = 0;
  /// Takes note of a code other than 0 and of the call that gave it; true where there is one.
  bool failed(int code, const char* call) noexcept;
  /// Takes note of a code of the GPUs' runtime other than 0; true where there is one.
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

/// This process's part of a flow by MPI, if it has one; it meets the other processes either way.
class MpiParts final : public PreparedParts {
 public:
  /// Connects the part with its partners, with as many slots as all of them have. Collective over all processes.
  using Connect = std::function<void(std::uint64_t slots)>;

  /// `slots`: of the part's arenas; 0 where there is none.
  MpiParts(MpiRuntime& runtime, std::unique_ptr<MpiTransfer> part, std::uint64_t slots, Connect connect)
      : runtime_(&runtime), part_(std::move(part)), slots_(slots), connect_(std::move(connect)) {}

  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    return part_ ? std::vector<Transfer*>{part_.get()} : std::vector<Transfer*>{};
  }
  [[nodiscard]] std::string export_handles() override {
    return RankEntry{runtime_->rank(), runtime_->size(), slots_}.told();
  }
  void import_handles(const std::vector<std::string>& exports) override {
    connect_(require_one_world(exports));
  }
  void finish() override {
    if (part_) part_->finish();
  }

 private:
  MpiRuntime* runtime_;
  std::unique_ptr<MpiTransfer> part_;
  std::uint64_t slots_;
  Connect connect_;
};

}  // namespace linkscope::mpi
