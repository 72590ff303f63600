// Rehearsing, recording and repeating calls.
#include "backend/xccl/group_calls.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <optional>
#include <utility>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::xccl {
namespace {

/// Calls that one start may hold back: each puts a kernel and a few waits for events into the stream.
constexpr std::uint64_t calls_held = 64;
/// Launches of graphs that it may hold back, however few calls a graph has: beside its kernels a graph holds what the
/// library records for streams of its own. With NCCL 2.28.9 on H200s, 24 graphs of one call could wait behind a closed
/// gate; 64 filled the driver's queue: who enqueued waited for the gate to open, and the gate for them.
constexpr std::uint64_t launches_held = 16;

}  // namespace

CallOptions CallOptions::of(const Parameters& parameters) {
  enum class Form { eager, graph };
  const bool graph = parameters.choice<Form>(form_parameter) == Form::graph;
  return {
      graph ? static_cast<std::uint64_t>(parameters.number(recorded_parameter)) : 0,
      parameters.choice<gpu::LaunchThreads>(launch_parameter),
      parameters.choice<Registered>(collective_registered_parameter),
      {parameters.choice<CtaPolicy>(policy_parameter), static_cast<int>(parameters.number(ctas_parameter))},
      parameters.given_text(algorithm_parameter).value_or("")};
}

Support CallOptions::supported_by(const XcclLibrary& library) const {
  if (registered == Registered::yes && !library.registers()) return library.registers();
  if (registered == Registered::window && !library.has_windows()) return library.has_windows();
  if (!algorithm.empty() && !library.configures_calls()) return library.configures_calls();
  return library.takes(settings);
}

Bytes rotation_bytes(const XcclContext& context, const Flow& flow, const std::vector<DeviceId>& gpus) {
  return CallOptions::of(flow.parameters).graph() ? 0 : gpu::rotation_bytes_of(*context.gpus(), gpus);
}

Registration::Registration(std::shared_ptr<Communicator> communicator, int device, const Buffer& buffer,
                           Registered how)
    : communicator_(std::move(communicator)),
      device_(device),
      comm_(communicator_->handle(device)),
      how_(how) {
  const XcclLibrary& library = communicator_->library();
  if (how_ == Registered::yes) {
    handle_ = library.register_buffer(comm_, buffer.data(), buffer.bytes());
    return;
  }
  constexpr int symmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
  library.check(library.api().comm_window_register(comm_, buffer.data(), buffer.bytes(), &handle_, symmetric),
                "ncclCommWindowRegister");
}

void Registration::check() const {
  communicator_->library().require(handle_,
                                   how_ == Registered::yes ? "ncclCommRegister" : "ncclCommWindowRegister");
}

/// A communicator that was given up has forgotten its buffers.
Registration::~Registration() {
  if (handle_ == nullptr || communicator_->broken() || !still_answers(device_)) return;
  const Api& api = communicator_->library().api();
  static_cast<void>(
      (how_ == Registered::yes ? api.comm_deregister : api.comm_window_deregister)(comm_, handle_));
}

GroupCalls::GroupCalls(std::shared_ptr<XcclContext> context, CallOptions form, CallsOfGpu grouping)
    : context_(std::move(context)), form_(std::move(form)), grouping_(grouping) {}

/// A case fails in every process, but not every process sees the communicator broken: all give it up.
GroupCalls::~GroupCalls() {
  shares_.clear();
  if (!finished_) give_up();
  if (form_.graph() && communicator_ != nullptr) communicator_->forget_graph();
}

void GroupCalls::add(const RankDevice& member, const Arenas& arenas, MakeCall call) {
  rank_ = member.rank;
  DeviceShare& share = shares_[member.device];
  share.calls.push_back(std::move(call));
  for (const Buffer* buffer : {arenas.source, arenas.destination}) {
    if (buffer != nullptr) share.buffers.push_back(buffer);
  }
}

std::vector<std::string> GroupCalls::notes() const {
  std::vector<std::string> found{context_->note()};
  if (form_.registered == Registered::yes)
    found.emplace_back("buffers registered with the communicator (ncclCommRegister)");
  if (form_.registered == Registered::window)
    found.emplace_back("buffers registered as windows by all members (ncclCommWindowRegister)");
  found.insert(found.end(), further_notes_.begin(), further_notes_.end());
  return found;
}

TransferFacts GroupCalls::facts() const {
  TransferFacts facts;
  facts.operations = std::max<std::uint64_t>(1, form_.recorded);
  facts.max_repeats = std::max<std::uint64_t>(
      1, std::min(form_.graph() ? launches_held : calls_held, calls_held / facts.operations));
  facts.max_calls_in_batch = std::numeric_limits<std::uint64_t>::max();
  if (grouping_ == CallsOfGpu::group) facts.call_group = "xccl";
  return facts;
}

void GroupCalls::begin(int device) {
  if (communicator_ == nullptr) set_up();
  shares_.at(device).done = 0;
}

std::uint64_t GroupCalls::turns(int device) const {
  const std::uint64_t done = shares_.at(device).done;
  return form_.graph() ? std::min(done, std::uint64_t{1}) * form_.recorded : done;
}

/// Connections, memory and kernels are made by the library when a call first needs them, mappings of registered buffers
/// likewise: never behind a closed gate. Buffers are registered only once the calls before have freed what graphs that
/// are gone held: the library would take such a buffer for an old one that lay at its address.
void GroupCalls::set_up() {
  std::vector<gpu::DeviceStream> streams;
  for (const auto& [device, share] : shares_)
    streams.push_back({device, context_->gpus()->service_stream(device)});
  const gpu::DeviceStream& first = streams.front();
  const Bytes before = context_->gpus()->free_memory(first.device);
  communicator_ = context_->communicators().lease(members_, form_.settings, rank_, id_);
  try {
    const bool is_new = !communicator_->used();
    settle(streams);
    const Bytes after = context_->gpus()->free_memory(first.device);
    if (is_new && after < before)
      add_note("communicator takes " + format_bytes(before - after) +
               " of gpu:" + std::to_string(first.device));
    if (form_.registered != Registered::no) {
      register_buffers();
      rehearse(streams, 1);
    }
    if (form_.graph()) {
      record(streams);
    } else if (grouping_ == CallsOfGpu::one && gpu::vendor::no_kernel_names().empty()) {
      look_at_eager(streams);
    }
  } catch (...) {
    give_up();
    drain(streams);
    throw;
  }
}

void GroupCalls::settle(const std::vector<gpu::DeviceStream>& streams) {
  rehearse(streams, communicator_->calls_until_settled());
  communicator_->settle();
}

/// Looks at a call that is recorded for that alone. One that cannot be recorded is measured all the same.
void GroupCalls::look_at_eager(const std::vector<gpu::DeviceStream>& streams) {
  try {
    look_at(gpu::work_of(recordings_of(streams, 1).front().graph()));
  } catch (const Error& error) {
    if (expected_ != Expected::anything || error.fault() == Fault::fatal) throw;
  }
  // With NCCL 2.28.9 on H200s an eager call took 4 us longer while a graph was there, and no longer than before once
  // that was gone.
  communicator_->forget_graph();
  settle(streams);
}

/// Says what ran. Throws Error{broken} where that is not what the plan has asked for, Error{unsupported}
/// where nothing tells.
void GroupCalls::look_at(const gpu::RecordedWork& work) {
  if (!work.known()) {
    if (expected_ == Expected::anything) return;
    throw Error(Fault::unsupported, "the driver does not tell what " + communicator_->library().name() +
                                        " ran on registered windows: set registered: no");
  }
  add_note("ran " + work.text());
  const auto symmetric = [](const std::string& kernel) {
    return kernel.starts_with("ncclSymkDev") || kernel.starts_with("ncclSymDev");  // of NCCL 2.27: the latter
  };
  const bool as_asked =
      expected_ == Expected::anything ||
      (expected_ == Expected::copy_engines
           ? work.kernels.empty()
           : !work.kernels.empty() && std::all_of(work.kernels.begin(), work.kernels.end(), symmetric));
  if (as_asked) return;
  const char* wanted = expected_ == Expected::copy_engines ? "copies by copy engines" : "a symmetric kernel";
  const XcclLibrary& library = communicator_->library();
  throw Error(Fault::broken, library.name() + " " + library.version() + " ran " + work.text() +
                                 " on registered windows, not " + wanted);
}

void GroupCalls::register_buffers() {
  // A call that all members make, as windows need, returns in no other way.
  Group group(communicator_->library());
  for (const auto& [device, share] : shares_) {
    context_->gpus()->use(device);
    for (const Buffer* buffer : share.buffers)
      registrations_.emplace_back(communicator_, device, *buffer, form_.registered);
  }
  group.end();
  for (const Registration& registration : registrations_) registration.check();
}

void GroupCalls::rehearse(const std::vector<gpu::DeviceStream>& streams, int calls) {
  for (int i = 0; i < calls; ++i) call_once(streams);
  wait_for(*this, streams);
}

std::list<gpu::Recording> GroupCalls::recordings_of(const std::vector<gpu::DeviceStream>& streams,
                                                    std::uint64_t calls) {
  std::list<gpu::Recording> recordings;
  for (const gpu::DeviceStream& one : streams) {
    shares_.at(one.device).done = 0;
    context_->gpus()->use(one.device);
    recordings.emplace_back(one.stream);
  }
  for (std::uint64_t i = 0; i < calls; ++i) call_once(streams);
  for (gpu::Recording& recording : recordings) recording.end();
  return recordings;
}

void GroupCalls::record(const std::vector<gpu::DeviceStream>& streams) {
  const std::list<gpu::Recording> recordings = recordings_of(streams, form_.recorded);
  look_at(gpu::work_of(recordings.front().graph()));
  auto recording = recordings.begin();
  for (const gpu::DeviceStream& one : streams) {
    context_->gpus()->use(one.device);
    shares_.at(one.device).graph = (recording++)->made_ready();
  }
  enqueue(streams, 1);  // the first launch of a graph may take what later ones have
  wait_for(*this, streams);
}

void GroupCalls::call_once(const std::vector<gpu::DeviceStream>& streams) {
  std::optional<Group> group;  // one GPU's calls go out without, as in nccl-tests -t
  if (streams.size() > 1) group.emplace(communicator_->library());
  for (const gpu::DeviceStream& one : streams) {
    const DeviceShare& share = shares_.at(one.device);
    const CallSite site{*communicator_, communicator_->handle(one.device), one.stream, share.done};
    std::optional<Group> of_gpu;
    if (grouping_ == CallsOfGpu::group) of_gpu.emplace(communicator_->library());
    for (const MakeCall& call : share.calls) call(site);
    if (of_gpu) of_gpu->end();
  }
  if (group) group->end();
  for (const gpu::DeviceStream& one : streams) ++shares_.at(one.device).done;
}

void GroupCalls::enqueue(const std::vector<gpu::DeviceStream>& streams, std::uint64_t repeats) {
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    if (!form_.graph()) {
      call_once(streams);
      continue;
    }
    for (const gpu::DeviceStream& one : streams) {
      DeviceShare& share = shares_.at(one.device);
      share.graph.launch(one.stream);
      ++share.done;
    }
  }
}

void GroupCalls::watch() const {
  if (communicator_ != nullptr) communicator_->watch();
}

void GroupCalls::give_up() noexcept {
  if (communicator_ != nullptr) communicator_->abort();
}

GroupTransfer::GroupTransfer(std::shared_ptr<GroupCalls> calls, int device, std::uint64_t slots,
                             const TransferFacts& facts, std::unique_ptr<Check> check)
    : calls_(std::move(calls)), device_(device), slots_(slots), check_(std::move(check)) {
  own_facts() = facts;
}

void GroupTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  calls_->enqueue({{device_, stream}}, repeats);
}

void GroupTransfer::arm(std::uint64_t seed) {
  calls_->begin(device_);
  check_->arm(seed);
}

std::optional<Mismatch> GroupTransfer::verify(std::uint64_t seed) const {
  calls_->watch();
  return check_->verify(seed, slots_touched());
}

std::uint64_t GroupTransfer::slots_touched() const { return std::min(slots_, calls_->turns(device_)); }

std::vector<Transfer*> XcclParts::transfers() const {
  std::vector<Transfer*> all;
  for (const auto& part : parts_) all.push_back(part.get());
  return all;
}

std::string XcclParts::export_handles() {
  if (!names_) return {};
  offered_ = context_->communicators().offered_id();
  return text_of(*offered_);
}

void XcclParts::import_handles(const std::vector<std::string>& exports) {
  if (!namer_) return;
  context_->communicators().next_wish();
  if (calls_ != nullptr) calls_->identify(read_id(exports.at(static_cast<std::size_t>(*namer_))));
}

}  // namespace linkscope::xccl
