// Choosing a kernel, launching it, and saying what came of it.
#include "collective/direct_transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "backend/gpu/memory/memories.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::direct {
namespace {

constexpr std::uint64_t most_calls_in_kernel = std::uint64_t{1} << 22U;

std::uint64_t ticks(Seconds seconds) {
  return static_cast<std::uint64_t>(seconds * gpu::vendor::ticks_per_second);
}

/// Memory that others may write while a kernel reads it.
std::unique_ptr<Buffer> allocate(const std::shared_ptr<gpu::GpuContext>& context, int device, Bytes bytes) {
  const DeviceId id{DeviceKind::gpu, device};
  const auto memory =
      gpu::vendor::has_grains ? gpu::fine_grained_memory(context) : gpu::device_memory(context);
  const Endpoint where{id, std::string(memory->name()), Placement::bound, id, {}, 0, memory->traits()};
  return memory->allocate(where, bytes);
}

}  // namespace

MemberWorkspace::MemberWorkspace(const std::shared_ptr<gpu::GpuContext>& context, int device, Bytes staging)
    : context_(context), device_(device), buffer_(allocate(context, device, packets_offset + staging)) {}

void MemberWorkspace::clear(const PeerTable& peers) const {
  Workspace::NoticeBoard book{};
  book.members = static_cast<std::uint64_t>(peers.members);
  for (int member = 0; member < peers.members; ++member) {
    book.notices[member] = &reinterpret_cast<Workspace*>(peers.workspaces[member])->notices;
  }
  context_->use(device_);
  const gpuStream_t stream = context_->service_stream(device_);
  LINKSCOPE_CHECK(gpuMemsetAsync(buffer_->data(), 0, buffer_->bytes(), stream));
  LINKSCOPE_CHECK(gpuMemcpyAsync(buffer_->data() + offsetof(Workspace, book), &book, sizeof book,
                                 gpuMemcpyDefault, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

Workspace::Notices MemberWorkspace::notices() const {
  Workspace::Notices notices{};
  context_->use(device_);
  const gpuStream_t stream = context_->service_stream(device_);
  LINKSCOPE_CHECK(gpuMemcpyAsync(&notices, buffer_->data(), sizeof notices, gpuMemcpyDefault, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  return notices;
}

DirectTransfer::DirectTransfer(std::shared_ptr<gpu::GpuContext> context,
                               std::shared_ptr<const CollectivePlan> plan, int index, const Arenas& arenas,
                               const MemberWorkspace& space, PeerBuffers peer_buffers, int sharing)
    : context_(std::move(context)),
      plan_(std::move(plan)),
      index_(index),
      arenas_(arenas),
      space_(space),
      peer_buffers_(std::move(peer_buffers)) {
  set_check(std::make_unique<CollectiveCheck>(plan_->shape, index, arenas));
  context_->use(device());
  for (const LaunchChoice& choice : plan_->choices) {
    context_->load(device(), {kernel_of(choice)});
    require_resident(choice, sharing);
  }
  choose(plan_->choices.front());
  own_facts().offer(plan_->choices);
  own_facts().max_repeats =
      plan_->form.launching == LaunchMode::in_kernel ? most_calls_in_kernel : gpu::queue_share;
  plan_->shape.state_in(own_facts());
}

void DirectTransfer::require_resident(const LaunchChoice& choice, int sharing) const {
  int each = 0;
  LINKSCOPE_CHECK(gpuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel_of(choice),
                                                               static_cast<int>(choice.threads), 0));
  const auto kernels = static_cast<int>(crowd(plan_->limits, choice.dependent));
  const int resident = each * context_->device(device()).multiprocessors / (sharing * kernels);
  if (std::cmp_less_equal(choice.blocks, resident)) return;
  throw Error(Fault::unsupported, std::to_string(choice.blocks) + " blocks of " +
                                      std::to_string(choice.threads) +
                                      " threads wait for one another, but gpu:" + std::to_string(device()) +
                                      " runs " + std::to_string(resident) + " at once");
}

const void* DirectTransfer::kernel_of(const LaunchChoice& choice) const {
  const CollectiveShape& shape = plan_->shape;
  const Combine combine = combine_of(shape.kind);
  if (plan_->stress.kernel_of != nullptr) return plan_->stress.kernel_of(shape, choice, index_, arenas_);
  const AlgorithmRow& row = row_of(choice.algorithm);
  const bool whole = whole_vectors(pieces_of(shape, choice.algorithm, index_));
  switch (row.family) {
    case Family::packets:
      return packet_kernel(*row.format, row.trips, combine, shape.type,
                           whole ? Layout::vectors : Layout::elements);
    case Family::peers:
      return peer_kernel(combine, shape.type);
    case Family::pushes:
      return push_kernel(shape.type);
    case Family::rings:
      return ring_kernel(shape.type);
  }
  return nullptr;
}

void DirectTransfer::choose(const LaunchChoice& choice) {
  choice_ = choice;
  context_->use(device());
  kernel_ = kernel_of(choice);
  switch (row_of(choice.algorithm).family) {
    case Family::packets:
      work_ = packet_work();
      break;
    case Family::peers:
      work_ = peer_work();
      break;
    case Family::pushes:
      work_ = push_work();
      break;
    case Family::rings:
      work_ = ring_work();
      break;
  }
  space_.clear(peer_buffers_.peers);
}

WaitLimits DirectTransfer::wait_limit() const {
  return {ticks(plan_->stress.wait_limit), ticks(plan_->stress.jitter)};
}

const std::byte* DirectTransfer::own_source() const {
  const std::byte* source = peer_buffers_.sources[static_cast<std::size_t>(index_)];
  return source == nullptr ? nullptr : source + plan_->shape.input_offset(index_);
}

std::byte* DirectTransfer::destination_of(int member) const {
  return peer_buffers_.destinations[static_cast<std::size_t>(member)];
}

PacketWork DirectTransfer::packet_work() const {
  return {peer_buffers_.peers,
          pieces_of(plan_->shape, choice_.algorithm, index_),
          staging_of(plan_->shape, choice_.algorithm),
          wait_limit(),
          own_source(),
          destination_of(index_)};
}

PeerWork DirectTransfer::peer_work() const {
  PeerWork work = direct::peer_work(plan_->shape, row_of(choice_.algorithm).division, index_,
                                    peer_buffers_.sources.data(), peer_buffers_.destinations.data());
  work.peers = peer_buffers_.peers;
  work.wait_limit = wait_limit();
  return work;
}

ChunkWork DirectTransfer::chunk_work() const { return {peer_buffers_.peers, wait_limit(), own_source()}; }

PushWork DirectTransfer::push_work() const {
  const CollectiveShape& shape = plan_->shape;
  PushWork work{chunk_work(), push_cut(shape, index_, choice_.blocks / 2, choice_.chunk)};
  std::copy(peer_buffers_.destinations.begin(), peer_buffers_.destinations.end(), work.destinations);
  if (shape.kind == CollectiveKind::reduce_scatter)
    work.destination_at = work.cut.share * static_cast<Bytes>(index_);
  return work;
}

RingWork DirectTransfer::ring_work() const {
  const CollectiveShape& shape = plan_->shape;
  RingWork work{chunk_work(), ring_cut(shape, index_, choice_.blocks, choice_.chunk)};
  work.destination = destination_of(index_);
  work.next_destination = destination_of(work.cut.next());
  const Bytes own_block = work.cut.share * static_cast<Bytes>(index_);
  if (shape.kind == CollectiveKind::all_gather) work.source_at = own_block;
  if (shape.kind == CollectiveKind::reduce_scatter) work.destination_at = own_block;
  return work;
}

void DirectTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  const bool at_once = plan_->form.launching == LaunchMode::in_kernel;
  LaunchArguments launch{at_once ? repeats : 1, choice_.dependent};
  void* const work = std::visit([](auto& laid) -> void* { return &laid; }, work_);
  std::array<void*, 2> all{work, &launch};
  const auto start = choice_.dependent == DependentLaunch::complete ? gpu::vendor::Start::complete
                                                                    : gpu::vendor::Start::programmatic;
  for (std::uint64_t made = 0; made < repeats; made += launch.calls) {
    LINKSCOPE_CHECK(gpu::vendor::launch_kernel(kernel_, dim3(choice_.blocks), dim3(choice_.threads),
                                               all.data(), stream, start));
  }
}

void DirectTransfer::arm(std::uint64_t seed) {
  Transfer::arm(seed);
  set_transfers(1);  // there is one slot
}

std::optional<Mismatch> DirectTransfer::verify(std::uint64_t seed) const {
  if (auto lost = fault()) return lost;
  return Transfer::verify(seed);
}

std::optional<Mismatch> DirectTransfer::fault() const {
  const Workspace::Notices notices = space_.notices();
  const std::uint64_t lost = std::max(notices.missing, notices.poison);
  if (lost == 0) return std::nullopt;
  const auto waited_ms = static_cast<std::int64_t>(std::round(plan_->stress.wait_limit * 1e3));
  return Mismatch{plan_->names.at(static_cast<std::size_t>(lost - 1)) + " did not come within " +
                  std::to_string(waited_ms) + " ms: all gave up"};
}

void DirectTransfer::use(const Setting& setting) { choose(LaunchChoice::from(setting)); }

std::vector<std::string> DirectTransfer::notes() const {
  std::vector<std::string> notes{"algorithm " + std::string(name_of(choice_.algorithm))};
  if (plan_->form.launching != LaunchMode::in_kernel)
    notes.push_back("dependent launch: " + std::string(name_of(choice_.dependent)));
  return notes;
}

}  // namespace linkscope::direct
