// The methods of MPI, messages between two processes by point-to-point and one-sided calls, and collectives; what they
// share with one another and with schedules: the library, the host, and how GPUs' memory is reached without it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/context.hpp"
#include "backend/host/host_transfer.hpp"
#include "backend/mpi/functions.h"
#include "backend/mpi/library.hpp"
#include "base/error.hpp"
#include "model/collective_check.hpp"
#include "model/copy_check.hpp"
#include "model/device.hpp"
#include "model/flow.hpp"
#include "model/flow_part.hpp"
#include "model/gpu_runtime.hpp"
#include "model/method.hpp"

namespace linkscope::mpi {

/// The thread that calls MPI.
struct Caller {
  int node = 0;                ///< it runs on a CPU of this one
  DeviceId device;             ///< whose memory it works with
  GpuRuntime* gpus = nullptr;  ///< null unless that is a GPU
  bool hands_over = true;      ///< MPI is given that memory itself
};

/// Tells whether an end is a GPU's memory; every MPI takes every kind of host memory.
[[nodiscard]] inline bool on_gpu(const Endpoint& where) { return where.device.kind == DeviceKind::gpu; }

/// Returns the processes of a flow's members, in their order.
[[nodiscard]] inline std::vector<int> ranks_of(const Flow& flow) {
  std::vector<int> ranks;
  for (const Endpoint& member : flow.members) ranks.push_back(member.rank);
  return ranks;
}
/// Tells whether each member has a process of its own.
[[nodiscard]] inline bool in_own_processes(const Flow& flow) {
  const std::vector<int> ranks = ranks_of(flow);
  return std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size();
}

class MpiContext {
 public:
  /// `devices`: of this machine, for the NUMA node beside each GPU. `gpus`: null where no runtime of theirs is at hand.
  MpiContext(std::shared_ptr<host::HostContext> host, MpiLibrary library,
             const std::vector<DeviceFacts>& devices, std::shared_ptr<GpuRuntime> gpus)
      : host_(std::move(host)), library_(std::move(library)), gpus_(std::move(gpus)) {
    for (const DeviceFacts& device : devices) {
      if (device.id.kind == DeviceKind::gpu) beside_[device.id.index] = std::max(device.numa, 0);
    }
  }

  [[nodiscard]] MpiLibrary& library() { return library_; }
  [[nodiscard]] GpuRuntime* gpus() const { return gpus_.get(); }
  /// Starts MPI where it has not been, for a caller with memory on `device`. Throws what MpiLibrary::runtime() throws.
  [[nodiscard]] MpiRuntime& runtime(const DeviceId& device) {
    return library_.runtime([this, device] { use(device); });
  }
  /// Makes a GPU the one that the calling thread's calls are about: libraries ask the GPUs' runtime which that is.
  void use(const DeviceId& device) const {
    if (device.kind != DeviceKind::gpu || gpus_ == nullptr) return;
    if (const int code = gpus_->use(device); code != 0) throw gpus_->failure(code);
  }
  /// The thread that calls MPI for memory on `device`: on a CPU of its NUMA node, or of the one beside the GPU.
  [[nodiscard]] Caller caller(const DeviceId& device) const {
    return {node_of(device), device, device.kind == DeviceKind::gpu ? gpus_.get() : nullptr};
  }
  /// Bytes through which rotated flows on these devices must cycle.
  [[nodiscard]] Bytes rotation_bytes(const std::vector<DeviceId>& devices) const {
    Bytes most = 0;
    for (const DeviceId& device : devices) {
      most = std::max(most, device.kind == DeviceKind::gpu && gpus_ != nullptr
                                ? gpus_->rotation_bytes(device)
                                : 2 * host_->last_level_cache({DeviceKind::numa, node_of(device)}));
    }
    return most;
  }
  /// Throws Error{unsupported} where `where` is a GPU's memory and the library does not take such.
  void require_taken(const Endpoint& where) {
    if (!on_gpu(where)) return;
    const Support taken = library_.runtime().takes_gpu_memory();
    if (!taken)
      throw Error(Fault::unsupported,
                  where.memory + " memory of " + where.device.text() + ": " + taken.reason());
  }

 private:
  [[nodiscard]] int node_of(const DeviceId& device) const {
    if (device.kind == DeviceKind::numa) return device.index;
    const auto known = beside_.find(device.index);
    return known == beside_.end() ? 0 : known->second;
  }

  std::shared_ptr<host::HostContext> host_;
  MpiLibrary library_;
  std::map<int, int> beside_;  ///< GPU -> NUMA node
  std::shared_ptr<GpuRuntime> gpus_;
};

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

/// Connects a part with its partners, with as many slots as all of them have. Collective over all processes.
using Connect = std::function<void(std::uint64_t slots)>;
/// This process's part of a flow, if it has one; it meets the other processes either way. `slots`: of the part's arenas;
/// 0 where there is none. `take_back`: see PreparedParts::finish; may be empty.
[[nodiscard]] inline std::unique_ptr<PreparedParts> prepared(MpiRuntime& runtime,
                                                             std::unique_ptr<Transfer> part,
                                                             std::uint64_t slots, Connect connect,
                                                             std::function<void()> take_back = nullptr) {
  return std::make_unique<SinglePart>(
      std::move(part), [&runtime, slots] { return RankEntry{runtime.rank(), runtime.size(), slots}.told(); },
      [connect = std::move(connect)](const std::vector<std::string>& exports) {
        connect(require_one_world(exports));
      },
      std::move(take_back));
}

inline constexpr std::int64_t answer_bytes = 4;

/// All that one rank's loop needs.
struct CallArguments {
  const MpiFunctions* mpi = nullptr;
  MpiHandle communicator = 0;
  MpiHandle window = 0;  ///< of a one-sided call
  int peer = 0;
  Tags tags;
  std::int64_t bytes = 0;
  int depth = 1;  ///< messages under way at a time
  Slots out;
  Slots in;
  BounceBuffer* out_bounce = nullptr;  ///< null: MPI is given the memory itself
  BounceBuffer* in_bounce = nullptr;
  void* requests = nullptr;  ///< room for 2 * depth of them
  int bounce_code = 0;       ///< what a bounce failed with
  std::array<std::byte, answer_bytes> answer{};

  int send(const std::byte* from, std::int64_t size, int tag) const noexcept {
    return mpi->send(from, size, peer, tag, communicator);
  }
  int receive(std::byte* to, std::int64_t size, int tag) const noexcept {
    return mpi->receive(to, size, peer, tag, communicator);
  }
  /// Waits for the `depth` messages whose requests are from number `first` on.
  int wait(int first) const noexcept { return mpi->wait_all(depth, requests, first); }
};

/// A loop returns this where a bounce failed: it is no code of MPI's.
inline constexpr int bounce_failed = -1;

/// Repeats [first, first + repeats): 0, or the code of the first call that failed, where it ends.
using MessageLoop = int (*)(CallArguments& arguments, std::uint64_t first, std::uint64_t repeats);

inline constexpr Parameter call_parameter =
    word("call", "send|window|both-ways|ping-pong|put|get|put-window|get-window",
         "send: blocking, each answered by an empty message, so the time is until arrival; window: many "
         "under way, then an answer, as osu_bw; both-ways: windows in both directions at once, whose sum is "
         "the result, as osu_bibw; ping-pong: half of a round trip, as osu_latency; put: one-sided, each "
         "flushed, as osu_put_latency; get: one-sided, each flushed, as osu_get_latency; put-window: many, "
         "then a flush, as osu_put_bw; get-window: many, then a flush, as osu_get_bw");
inline constexpr Parameter window_parameter =
    integer("window", "messages in flight, for the window calls", 1, 4096, 64);  // osu_bw's

struct Call {
  const char* made_of = "";  ///< for messages
  Quantity quantity = Quantity::bandwidth;
  bool both_ways = false;           ///< data go in both directions
  bool many = false;                ///< a repeat is a window of messages under way
  MessageLoop at_source = nullptr;  ///< null: attends while the other side puts or gets; the other is timed
  MessageLoop at_destination = nullptr;

  static const Call& of(const Flow& flow);
  [[nodiscard]] bool one_sided() const { return at_source == nullptr || at_destination == nullptr; }
  /// Whose process's time is the flow's.
  [[nodiscard]] Side timed_side() const { return at_source == nullptr ? Side::destination : Side::source; }
};

/// Parameter `window` where the call has one, else 1.
[[nodiscard]] int window_of(const Flow& flow);
/// Operations of one repeat of this flow: time is reported per operation.
[[nodiscard]] std::uint64_t operations_of(const Flow& flow);

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
