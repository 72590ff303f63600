// Choosing a kernel, launching it, and saying what came of it.
#include "collective/direct_transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::direct {
namespace {

constexpr std::uint64_t most_calls_in_kernel = std::uint64_t{1} << 22U;

std::uint64_t ticks(Seconds seconds) {
  return static_cast<std::uint64_t>(seconds * gpu::vendor::ticks_per_second);
}

}  // namespace

DirectTransfer::DirectTransfer(std::shared_ptr<gpu::GpuContext> context,
                               std::shared_ptr<const CollectivePlan> plan, int index, const Arenas& arenas,
                               const MemberWorkspace& space, PeerBuffers peer_buffers, int sharing)
    : context_(std::move(context)),
      plan_(std::move(plan)),
      index_(index),
      arenas_(arenas),
      space_(space),
      peer_buffers_(std::move(peer_buffers)),
      check_(plan_->shape, index, arenas) {
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

Layout DirectTransfer::layout_of(const LaunchChoice& choice) const {
  const bool whole = whole_vectors(pieces_of(plan_->shape, choice.algorithm, index_));
  return whole ? Layout::vectors : Layout::elements;
}

const void* DirectTransfer::kernel_of(const LaunchChoice& choice) const {
  const CollectiveShape& shape = plan_->shape;
  const Combine combine = combine_of(shape.kind);
  const SelfCheck self_check = plan_->stress.self_check;
  switch (family_of(choice.algorithm)) {
    case Family::packets:
      return packet_kernel(*format_of(choice.algorithm), trips_of(choice.algorithm), combine, shape.type,
                           layout_of(choice), self_check);
    case Family::peers:
      return peer_kernel(combine, shape.type, self_check);
    case Family::pushes:
      return push_kernel(shape.type, self_check);
    case Family::rings:
      return ring_kernel(shape.type, self_check);
  }
  return nullptr;
}

WaitLimits DirectTransfer::wait_limit() const {
  return {ticks(plan_->stress.wait_limit), ticks(plan_->stress.jitter)};
}

void DirectTransfer::choose(const LaunchChoice& choice) {
  choice_ = choice;
  kernel_ = kernel_of(choice);
  switch (family_of(choice.algorithm)) {
    case Family::packets:
      lay_packets();
      break;
    case Family::peers:
      lay_peers();
      break;
    case Family::pushes:
      lay_pushes();
      break;
    case Family::rings:
      lay_ring();
      break;
  }
  space_.clear(peer_buffers_.peers);
}

void DirectTransfer::lay_packets() {
  const CollectiveShape& shape = plan_->shape;
  const auto own = static_cast<std::size_t>(index_);
  exchange_.peers = peer_buffers_.peers;
  exchange_.pieces = pieces_of(shape, choice_.algorithm, index_);
  exchange_.staging = staging_of(shape, choice_.algorithm);
  exchange_.wait_limit = wait_limit();
  if (peer_buffers_.sources[own] != nullptr)
    exchange_.source = peer_buffers_.sources[own] + shape.input_offset(index_);
  exchange_.destination = peer_buffers_.destinations[own];
}

void DirectTransfer::lay_peers() {
  work_ = peer_work(plan_->shape, division_of(choice_.algorithm), index_, peer_buffers_.sources.data(),
                    peer_buffers_.destinations.data());
  work_.peers = peer_buffers_.peers;
  work_.wait_limit = wait_limit();
  if (arenas_.source != nullptr) work_.self_check.source = arenas_.source->data();
  if (arenas_.destination != nullptr) work_.self_check.destination = arenas_.destination->data();
}

/// A push's shares start where the buffers do; only what a ring gathers in place lies behind that.
ChunkWork DirectTransfer::chunk_work() const {
  const std::byte* source = peer_buffers_.sources[static_cast<std::size_t>(index_)];
  if (source != nullptr) source += plan_->shape.input_offset(index_);
  return {peer_buffers_.peers, wait_limit(), source, address_of(arenas_.source)};
}

void DirectTransfer::lay_pushes() {
  const CollectiveShape& shape = plan_->shape;
  push_ = {chunk_work(), push_cut(shape, index_, choice_.blocks / 2, choice_.chunk)};
  std::copy(peer_buffers_.destinations.begin(), peer_buffers_.destinations.end(), push_.destinations);
  if (shape.kind == CollectiveKind::reduce_scatter)
    push_.destination_at = push_.cut.share * static_cast<Bytes>(index_);
}

void DirectTransfer::lay_ring() {
  const CollectiveShape& shape = plan_->shape;
  const auto own = static_cast<std::size_t>(index_);
  ring_ = {chunk_work(), ring_cut(shape, index_, choice_.blocks, choice_.chunk)};
  ring_.destination = peer_buffers_.destinations[own];
  ring_.next_destination = peer_buffers_.destinations[static_cast<std::size_t>(ring_.cut.next())];
  const Bytes own_block = ring_.cut.share * static_cast<Bytes>(index_);
  if (shape.kind == CollectiveKind::all_gather) ring_.source_at = own_block;
  if (shape.kind == CollectiveKind::reduce_scatter) ring_.destination_at = own_block;
}

void* DirectTransfer::arguments() {
  switch (family_of(choice_.algorithm)) {
    case Family::packets:
      return &exchange_;
    case Family::peers:
      return &work_;
    case Family::pushes:
      return &push_;
    case Family::rings:
      return &ring_;
  }
  return nullptr;
}

void DirectTransfer::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  const bool at_once = plan_->form.launching == LaunchMode::in_kernel;
  LaunchArguments launch{at_once ? repeats : 1, choice_.dependent};
  std::array<void*, 2> all{arguments(), &launch};
  const auto start = choice_.dependent == DependentLaunch::complete ? gpu::vendor::Start::complete
                                                                    : gpu::vendor::Start::programmatic;
  for (std::uint64_t made = 0; made < repeats; made += launch.calls) {
    LINKSCOPE_CHECK(gpu::vendor::launch_kernel(kernel_, dim3(choice_.blocks), dim3(choice_.threads),
                                               all.data(), stream, start));
  }
}

void DirectTransfer::arm(std::uint64_t seed) {
  check_.arm(seed);
  space_.forget_self_checks();
}

void DirectTransfer::restore() { check_.restore(1); }

std::optional<Mismatch> DirectTransfer::verify(std::uint64_t seed) const {
  const Workspace::Notices notices = space_.notices();
  if (auto lost = lost_member(notices)) return lost;
  if (plan_->stress.self_check == SelfCheck::on) return verify_self_check(notices);
  return check_.verify(seed, 1);
}

std::optional<Mismatch> DirectTransfer::fault() const {
  const Workspace::Notices notices = space_.notices();
  if (notices.wrong > 0) throw Error(Fault::mismatch, verify_self_check(notices)->what);
  return lost_member(notices);
}

std::optional<Mismatch> DirectTransfer::lost_member(const Workspace::Notices& notices) const {
  const std::uint64_t lost = std::max(notices.missing, notices.poison);
  if (lost == 0) return std::nullopt;
  const auto waited_ms = static_cast<std::int64_t>(std::round(plan_->stress.wait_limit * 1e3));
  return Mismatch{plan_->names.at(static_cast<std::size_t>(lost - 1)) + " did not come within " +
                  std::to_string(waited_ms) + " ms: all gave up"};
}

std::optional<Mismatch> DirectTransfer::verify_self_check(const Workspace::Notices& notices) const {
  const CollectiveShape& shape = plan_->shape;
  const bool checks = shape.receives(index_);
  if (notices.wrong == 0 && (notices.checked > 0 || !checks)) return std::nullopt;
  if (notices.wrong == 0)
    return Mismatch{plan_->names.at(static_cast<std::size_t>(index_)) + " checked nothing"};
  return Mismatch{std::to_string(notices.wrong) + " of " + std::to_string(notices.checked) + " elements of " +
                  plan_->names.at(static_cast<std::size_t>(index_)) +
                  " were not what they should be, some of them in call " +
                  std::to_string(notices.wrong_call)};
}

Bytes DirectTransfer::verified_bytes() const {
  return plan_->stress.self_check == SelfCheck::on ? space_.notices().checked * plan_->shape.element_bytes()
                                                   : check_.verified_bytes(1);
}

void DirectTransfer::use(const Setting& setting) { choose(LaunchChoice::from(setting)); }

std::vector<std::string> DirectTransfer::notes() const {
  std::vector<std::string> notes{"algorithm " + std::string(name_of(choice_.algorithm))};
  if (plan_->form.launching != LaunchMode::in_kernel)
    notes.push_back("dependent launch: " + std::string(name_of(choice_.dependent)));
  if (plan_->stress.self_check == SelfCheck::on)
    notes.emplace_back("a self-check: its numbers are made up in the kernel");
  return notes;
}

}  // namespace linkscope::direct
