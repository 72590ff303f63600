// The methods of MPI: messages between two processes, by point-to-point and one-sided calls, and collectives; what
// they share with the schedules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/stamped_transfer.hpp"
#include "backend/mpi/call.hpp"
#include "backend/mpi/context.hpp"
#include "model/collective_check.hpp"
#include "model/copy_check.hpp"
#include "model/flow_part.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// After a failure it calls MPI no more.
class MpiTransfer : public host::StampedTransfer {
 public:
  /// `runtime` outlives the transfer.
  MpiTransfer(MpiRuntime& runtime, const Caller& caller)
      : StampedTransfer(caller.node), runtime_(&runtime), caller_(caller), turn_(runtime.turn()) {
    if (caller_.hands_over) runtime.visit(caller_.device);
  }

  [[nodiscard]] host::Worker* own_worker() override { return runtime_->worker(); }
  /// Throws Error{broken} with MPI's words, or the GPU vendor's.
  void rethrow() override {
    if (gpu_code_ != 0) throw caller_.gpus->failure(gpu_code_);
    if (code_ != 0) runtime_->in_its_thread([&] { throw runtime_->failure(code_, call_); });
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> notes = runtime_->notes();
    std::string away = caller_.hands_over ? runtime_->away_from_home(caller_.device) : "";
    if (!away.empty()) notes.push_back(std::move(away));
    return notes;
  }

 protected:
  [[nodiscard]] std::optional<Span> carry_out(std::uint64_t first, std::uint64_t repeats) noexcept final {
    const bool able = code_ == 0 && gpu_code_ == 0 &&
                      !(caller_.gpus != nullptr && gpu_failed(caller_.gpus->use(caller_.device)));
    return able ? make_calls(first, repeats) : std::nullopt;
  }
  /// Meets the partners and makes the repeats' calls. Their span, or nothing after failed().
  [[nodiscard]] virtual std::optional<Span> make_calls(std::uint64_t first,
                                                       std::uint64_t repeats) noexcept = 0;
  /// Takes note of a code other than 0 and of the call that gave it; true where there is one.
  bool failed(int code, const char* call) noexcept {
    if (code == 0) return false;
    if (code_ == 0) {
      code_ = code;
      call_ = call;
    }
    return true;
  }
  /// Takes note of a code of the GPUs' runtime other than 0; true where there is one.
  bool gpu_failed(int code) noexcept {
    if (gpu_code_ == 0) gpu_code_ = code;
    return code != 0;
  }

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

  /// `slots`: of the part's arenas; 0 where there is none. `take_back`: see PreparedParts::finish; may be empty.
  MpiParts(MpiRuntime& runtime, std::unique_ptr<Transfer> part, std::uint64_t slots, Connect connect,
           std::function<void()> take_back = {})
      : runtime_(&runtime),
        part_(std::move(part)),
        slots_(slots),
        connect_(std::move(connect)),
        take_back_(std::move(take_back)) {}

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
    if (take_back_) take_back_();
  }

 private:
  MpiRuntime* runtime_;
  std::unique_ptr<Transfer> part_;
  std::uint64_t slots_;
  Connect connect_;
  std::function<void()> take_back_;
};

/// One end of a flow, as the plan says it.
struct End {
  Side side = Side::source;
  Caller caller;
  Arenas arenas;
  std::unique_ptr<BounceBuffer> out_bounce;
  std::unique_ptr<BounceBuffer> in_bounce;
};

/// Its memory, its loop, its time.
class EndTransfer final : public MpiTransfer {
 public:
  EndTransfer(MpiRuntime& runtime, const Flow& flow, End end);

  /// Before anything else: the slots that both ends have, and who the other one is. Collective over the communicator.
  /// Throws Error{broken}.
  void connect(std::uint64_t slots, MpiHandle communicator, int peer, Tags tags);
  /// Withdraws the window of a one-sided call, which stays otherwise. Collective over its two ends.
  void finish();
  [[nodiscard]] std::vector<std::string> notes() const override;

 protected:
  [[nodiscard]] std::optional<Span> make_calls(std::uint64_t first, std::uint64_t repeats) noexcept override;

 private:
  [[nodiscard]] bool barrier_failed() noexcept;
  [[nodiscard]] std::optional<Span> timed_loop(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] std::optional<Span> one_sided(std::uint64_t first, std::uint64_t repeats) noexcept;

  const Call* call_;
  End end_;
  CallArguments arguments_;
  std::vector<std::byte> requests_;
};

/// The row of method `mpi`. The sender's process and the receiver's each have a part; one CPU thread beside each end's
/// memory calls MPI.
[[nodiscard]] Method mpi_message(const std::shared_ptr<MpiContext>& context);

/// A member of a collective, as the plan says it.
struct MpiMember {
  int index = 0;
  Caller caller;
  Arenas arenas;
};

/// One member's calls of a collective.
class MpiCollectiveTransfer final : public MpiTransfer {
 public:
  /// Throws Error{unsupported} where this MPI has no such type, or no sum of it.
  MpiCollectiveTransfer(MpiRuntime& runtime, const CollectiveShape& shape, const MpiMember& member);

  /// Before anything else: the slots that all members have, and their communicator, with member 0 as rank 0.
  void connect(std::uint64_t slots, MpiHandle communicator);

 protected:
  [[nodiscard]] std::optional<Span> make_calls(std::uint64_t first, std::uint64_t repeats) noexcept override;

 private:
  [[nodiscard]] std::optional<Span> one_by_one(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] std::optional<Span> in_a_row(std::uint64_t first, std::uint64_t repeats) noexcept;
  [[nodiscard]] int call(std::uint64_t index) const noexcept;

  CollectiveShape shape_;
  MpiMember member_;
  MpiElement type_;
  std::int64_t count_;  ///< as MpiFunctions counts
  MpiHandle communicator_ = 0;
  Slots from_;
  Slots to_;
};

/// The row of method `mpi-collective`. One CPU thread beside each member's memory calls MPI. Clock::host times each
/// call by itself, with a barrier between calls outside the time, as osu_allreduce and its like do; the other clocks
/// time calls made one right after another.
[[nodiscard]] Method mpi_collective(const std::shared_ptr<MpiContext>& context);

}  // namespace linkscope::mpi
