// GroupCalls: what one process calls of the library for a piece of work, how it calls, and how that is repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/graph/graphs.hpp"
#include "backend/gpu/graph/recorded_work.hpp"
#include "backend/gpu/streams.hpp"
#include "backend/gpu/transfer.hpp"
#include "backend/xccl/context.hpp"
#include "model/buffer.hpp"
#include "model/flow.hpp"
#include "model/flow_part.hpp"

namespace linkscope::xccl {

inline constexpr Parameter form_parameter =
    word("form", "eager|graph", "eager: a call each time; graph: calls recorded once, launched as a graph");
inline constexpr Parameter recorded_parameter = integer(
    "recorded", "calls that one graph holds; nccl-tests -G records its -n, which is 20 by default", 1, 64, 1);
inline constexpr Parameter launch_parameter = word("launch", "one-thread|thread-per-gpu",
                                                   "one-thread: one thread calls for all GPUs of the process "
                                                   "(nccl-tests -g); thread-per-gpu: one for each (-t)");
inline constexpr Parameter registered_parameter =
    word("registered", "no|yes",
         "yes: buffers are registered with the communicator (ncclCommRegister; nccl-tests -R 1), which may "
         "then use them in place");
inline constexpr Parameter collective_registered_parameter =
    word("registered", "no|yes|window",
         "yes: buffers are registered with the communicator (ncclCommRegister; nccl-tests -R 1), which may "
         "then use them in place; window: by all members, for its symmetric kernels and copy engines "
         "(ncclCommWindowRegister; nccl-tests -R 2)");
inline constexpr Parameter policy_parameter =
    word("policy", "default|efficiency|zero",
         "how freely the communicator takes the GPU's processors (CTAPolicy; nccl-tests -x); zero: with "
         "registered: window, copy engines do all-gather and all-to-all");
inline constexpr Parameter ctas_parameter = integer(
    "ctas", "blocks of a kernel, at least and at most (minCTAs, maxCTAs); 0: the library's choice", 0, 64, 0);
inline constexpr Parameter algorithm_parameter = text(
    "algorithm", "of each call, by NCCL's name (algSelection): RING_LL, TREE_SIMPLE, SYMK_ST; from 2.31 on");

/// Says whether the library is told of the buffers before calls are measured.
enum class Registered { no, yes, window };

/// These parameters: the way in which the library is called.
struct CallOptions {
  std::uint64_t recorded = 0;  ///< calls that one graph holds; 0: eager
  gpu::LaunchThreads launch = gpu::LaunchThreads::one_thread;
  Registered registered = Registered::no;
  CommunicatorSettings settings = {};
  std::string algorithm;  ///< of each call; empty: the library's choice

  static CallOptions of(const Parameters& parameters);
  [[nodiscard]] bool graph() const { return recorded > 0; }
  /// Tells whether `library` can make calls so.
  [[nodiscard]] Support supported_by(const XcclLibrary& library) const;
  auto operator<=>(const CallOptions&) const = default;
};

/// Bytes through which a rotated flow on these GPUs must cycle; 0 for a graph, which is recorded for one slot.
[[nodiscard]] Bytes rotation_bytes(const XcclContext& context, const Flow& flow,
                                   const std::vector<DeviceId>& gpus);

/// Registers all of `buffer` for the calls of `device` (ncclCommRegister, ncclCommWindowRegister), and takes that back when
/// it goes: before the buffer does.
class Registration {
 public:
  /// `device` is current. A window is there once the group has ended. Throws what XcclLibrary::register_buffer() throws,
  /// and Error{broken} after Communicator::abort().
  Registration(std::shared_ptr<Communicator> communicator, int device, const Buffer& buffer, Registered how);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Throws Error{unsupported} where the library gave none.
  void check() const;

 private:
  std::shared_ptr<Communicator> communicator_;
  int device_;
  Comm* comm_;
  Registered how_;
  void* handle_ = nullptr;
};

/// Whom a call is made for: this process's member of the communicator, its stream, and the number of the transfer.
struct CallSite {
  const Communicator& communicator;
  Comm* comm;
  Stream stream;
  std::uint64_t turn;

  /// The functions of the library.
  [[nodiscard]] const Api& api() const { return communicator.library().api(); }
  /// XcclLibrary::check().
  void check(Result result, const char* call) const { communicator.library().check(result, call); }
};

/// Makes one GPU's call for one transfer.
using MakeCall = std::function<void(const CallSite&)>;

/// The calls that one GPU makes for one transfer: a collective's goes out by itself, a case's messages as a group, as
/// in nccl-tests' sendrecv.
enum class CallsOfGpu { one, group };

/// What a call must run, or it has fallen back in silence.
enum class Expected { anything, symmetric_kernel, copy_engines };

/// Calls of the GPUs of this process, as members of one communicator. First everything is added, in every process that
/// has members, then transfers are armed.
class GroupCalls final : public gpu::MultiGpuWork {
 public:
  GroupCalls(std::shared_ptr<XcclContext> context, CallOptions form, CallsOfGpu grouping);
  ~GroupCalls() override;
  GroupCalls(const GroupCalls&) = delete;
  GroupCalls& operator=(const GroupCalls&) = delete;

  [[nodiscard]] const CallOptions& form() const { return form_; }
  /// Members of the communicator, in their order: of all processes, which say the same.
  void set_members(RankDevices members) { members_ = std::move(members); }
  [[nodiscard]] const RankDevices& members() const { return members_; }
  /// The identifier for the communicator that may have to be made.
  void identify(const UniqueId& id) { id_ = id; }
  void expect(Expected expected) { expected_ = expected; }
  /// Adds a call of this process's `member`, which reads and writes `arenas`.
  void add(const RankDevice& member, const Arenas& arenas, MakeCall call);
  /// Tells whether the first transfer has been armed.
  [[nodiscard]] bool begun() const { return communicator_ != nullptr; }

  void add_note(std::string note) { further_notes_.push_back(std::move(note)); }
  /// Remarks for rows.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// The facts of each of its transfers.
  [[nodiscard]] TransferFacts facts() const;
  [[nodiscard]] gpu::LaunchThreads launch() const override { return form_.launch; }
  void enqueue(const std::vector<gpu::DeviceStream>& streams, std::uint64_t repeats) override;
  void watch() const override;
  void give_up() noexcept override;

  /// Says that the case has ended well. Without it the communicator is given up at the end.
  void finish() { finished_ = true; }
  /// Makes `device`'s next transfer its first. Before the very first one sets up what that takes: with all other
  /// processes, as arm() is. Every transfer of the work says so when it is armed.
  void begin(int device);
  /// Returns how many different turns `device` has taken since begin().
  [[nodiscard]] std::uint64_t turns(int device) const;

 private:
  /// The share of one GPU. Once transfers are armed, only the thread that calls for that GPU touches it.
  struct DeviceShare {
    std::vector<MakeCall> calls;
    std::vector<const Buffer*> buffers;  ///< that they read and write
    std::uint64_t done = 0;              ///< transfers since begin()
    gpu::ExecutableGraph graph;
  };

  void set_up();
  void settle(const std::vector<gpu::DeviceStream>& streams);
  void register_buffers();
  void look_at_eager(const std::vector<gpu::DeviceStream>& streams);
  void look_at(const gpu::RecordedWork& work);
  [[nodiscard]] std::list<gpu::Recording> recordings_of(const std::vector<gpu::DeviceStream>& streams,
                                                        std::uint64_t calls);
  void call_once(const std::vector<gpu::DeviceStream>& streams);
  void rehearse(const std::vector<gpu::DeviceStream>& streams, int calls);
  void record(const std::vector<gpu::DeviceStream>& streams);

  std::shared_ptr<XcclContext> context_;
  CallOptions form_;
  CallsOfGpu grouping_;
  RankDevices members_;
  int rank_ = 0;  ///< this process's
  UniqueId id_{};
  Expected expected_ = Expected::anything;
  std::vector<std::string> further_notes_;
  bool finished_ = false;
  std::shared_ptr<Communicator> communicator_;  ///< before what needs it: that goes first
  std::list<Registration> registrations_;
  std::map<int, DeviceShare> shares_;
};

/// One part of such work: a GPU's buffers, armed and checked. What is enqueued is the whole work's share of that GPU.
class GroupTransfer final : public gpu::GpuTransfer {
 public:
  /// `slots` of its buffers that turns are taken on. `facts`: GroupCalls::facts(), and what else holds of the part.
  GroupTransfer(std::shared_ptr<GroupCalls> calls, int device, std::uint64_t slots,
                const TransferFacts& facts, std::unique_ptr<Check> check);

  [[nodiscard]] int device() const override { return device_; }
  [[nodiscard]] gpu::MultiGpuWork* shared_work() override { return calls_.get(); }
  void enqueue(gpuStream_t stream, std::uint64_t repeats) override;
  void arm(std::uint64_t seed) override;
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override;
  [[nodiscard]] Bytes verified_bytes() const override { return check_->verified_bytes(slots_touched()); }
  void restore() override { check_->restore(slots_touched()); }
  void flush() override { check_->flush(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return calls_->notes(); }

 private:
  [[nodiscard]] std::uint64_t slots_touched() const;

  std::shared_ptr<GroupCalls> calls_;
  int device_;
  std::uint64_t slots_;
  std::unique_ptr<Check> check_;
};

/// One flow in this process: its parts, in order, and its share of finding a communicator.
class XcclParts final : public PreparedParts {
 public:
  /// `namer`: the process that names the communicator; none where another flow of the case has had it named. `names`:
  /// it is this one. `calls` may be null in a process without parts.
  XcclParts(std::shared_ptr<XcclContext> context, std::shared_ptr<GroupCalls> calls, std::optional<int> namer,
            bool names)
      : context_(std::move(context)), calls_(std::move(calls)), namer_(namer), names_(names) {}

  void add(std::unique_ptr<GroupTransfer> part) { parts_.push_back(std::move(part)); }
  [[nodiscard]] std::vector<Transfer*> transfers() const override;
  [[nodiscard]] std::string export_handles() override;
  void import_handles(const std::vector<std::string>& exports) override;
  void finish() override {
    if (calls_ != nullptr) calls_->finish();
  }

 private:
  std::shared_ptr<XcclContext> context_;
  std::shared_ptr<GroupCalls> calls_;
  std::optional<int> namer_;
  bool names_;
  std::shared_ptr<const UniqueId> offered_;  ///< held until the case has ended
  std::vector<std::unique_ptr<GroupTransfer>> parts_;
};

}  // namespace linkscope::xccl
