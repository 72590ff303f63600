// Rehearsing, recording and repeating calls.
#include "backend/xccl/group_calls.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <optional>
#include <utility>

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

GroupCalls::GroupCalls(std::shared_ptr<XcclContext> context, const CallOptions& form)
    : context_(std::move(context)), form_(form) {}

/// Where a case fails, it fails in every process, but not every one sees the communicator broken: all give it up.
GroupCalls::~GroupCalls() {
  shares_.clear();
  if (!finished_) give_up();
  if (form_.graph() && communicator_ != nullptr) communicator_->forget_graph();
}

std::vector<std::string> GroupCalls::notes() const {
  std::vector<std::string> found{context_->note()};
  if (form_.registered == Registered::yes)
    found.emplace_back("buffers registered with the communicator (ncclCommRegister)");
  return found;
}

TransferFacts GroupCalls::facts() const {
  TransferFacts facts;
  facts.operations = std::max<std::uint64_t>(1, form_.recorded);
  facts.max_repeats = std::max<std::uint64_t>(
      1, std::min(form_.graph() ? launches_held : calls_held, calls_held / facts.operations));
  facts.max_calls_in_batch = std::numeric_limits<std::uint64_t>::max();
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
  communicator_ = connect();
  std::vector<gpu::DeviceStream> streams;
  for (const int device : devices()) {
    shares_[device];
    streams.push_back({device, context_->gpus()->service_stream(device)});
  }
  try {
    rehearse(streams, communicator_->calls_until_settled());
    communicator_->settle();
    if (form_.registered == Registered::yes) {
      register_buffers();
      rehearse(streams, 1);
    }
    if (form_.graph()) record(streams);
  } catch (...) {
    give_up();
    drain(streams);
    throw;
  }
}

void GroupCalls::register_buffers() {
  Group group(
      communicator_->library());  // a call that all members make, as of windows, returns in no other way
  for (const int device : devices()) {
    context_->gpus()->use(device);
    for (const Buffer* buffer : buffers(device)) registrations_.emplace_back(communicator_, device, *buffer);
  }
  group.end();
}

void GroupCalls::rehearse(const std::vector<gpu::DeviceStream>& streams, int calls) {
  for (int i = 0; i < calls; ++i) call_once(streams);
  wait_for(*this, streams);
}

void GroupCalls::record(const std::vector<gpu::DeviceStream>& streams) {
  std::list<gpu::Recording> recordings;
  for (const gpu::DeviceStream& one : streams) {
    shares_.at(one.device).done = 0;
    context_->gpus()->use(one.device);
    recordings.emplace_back(one.stream);
  }
  for (std::uint64_t i = 0; i < form_.recorded; ++i) call_once(streams);
  for (gpu::Recording& recording : recordings) recording.end();
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
  for (const gpu::DeviceStream& one : streams) call(*communicator_, one, shares_.at(one.device).done);
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
      DeviceProgress& share = shares_.at(one.device);
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

GroupTransfer::GroupTransfer(std::shared_ptr<GroupCalls> calls, int device, std::uint64_t slots)
    : calls_(std::move(calls)), device_(device), slots_(slots) {
  own_facts() = calls_->facts();
}

void GroupTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  calls_->enqueue({{device_, stream}}, repeats);
}

void GroupTransfer::arm(std::uint64_t seed) {
  calls_->begin(device_);
  arm_buffers(seed);
}

std::optional<Mismatch> GroupTransfer::verify(std::uint64_t seed) const {
  calls_->watch();
  return verify_buffers(seed, slots_touched());
}

Bytes GroupTransfer::verified_bytes() const { return verified_bytes(slots_touched()); }

std::uint64_t GroupTransfer::slots_touched() const { return std::min(slots_, calls_->turns(device_)); }

std::vector<std::string> GroupTransfer::notes() const { return calls_->notes(); }

}  // namespace linkscope::xccl
