// Choosing a kernel, launching it, and saying what came of it.
#include "collective/member.hpp"

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

Member::Member(std::shared_ptr<gpu::Context> context, std::shared_ptr<const Agreement> agreement, int index,
               const Arenas& arenas, const MemberSpace& space, Reached reached, int sharing)
    : context_(std::move(context)),
      agreement_(std::move(agreement)),
      index_(index),
      arenas_(arenas),
      space_(space),
      reached_(std::move(reached)),
      check_(agreement_->shape, index, arenas) {
  context_->use(device());
  for (const LaunchChoice& choice : agreement_->choices) {
    context_->load(device(), {kernel_of(choice)});
    require_resident(choice, sharing);
  }
  choose(agreement_->choices.front());
}

void Member::require_resident(const LaunchChoice& choice, int sharing) const {
  int each = 0;
  LINKSCOPE_CHECK(gpuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel_of(choice),
                                                               static_cast<int>(choice.threads), 0));
  const auto kernels = static_cast<int>(crowd(agreement_->room, choice.dependent));
  const int resident = each * context_->device(device()).multiprocessors / (sharing * kernels);
  if (std::cmp_less_equal(choice.blocks, resident)) return;
  throw Error(Fault::unsupported, std::to_string(choice.blocks) + " blocks of " +
                                      std::to_string(choice.threads) +
                                      " threads wait for one another, but gpu:" + std::to_string(device()) +
                                      " runs " + std::to_string(resident) + " at once");
}

Layout Member::layout_of(const LaunchChoice& choice) const {
  const bool whole = whole_vectors(pieces_of(agreement_->shape, choice.algorithm, index_));
  return whole ? Layout::vectors : Layout::elements;
}

const void* Member::kernel_of(const LaunchChoice& choice) const {
  const CollectiveShape& shape = agreement_->shape;
  const Combine combine = combine_of(shape.kind);
  const Trial trial = agreement_->form.trial;
  switch (family_of(choice.algorithm)) {
    case Family::packets:
      return packet_kernel(*format_of(choice.algorithm), trips_of(choice.algorithm), combine, shape.type,
                           layout_of(choice), trial);
    case Family::peers:
      return peer_kernel(combine, shape.type, trial);
    case Family::pushes:
      return push_kernel(shape.type, trial);
    case Family::rings:
      return ring_kernel(shape.type, trial);
  }
  return nullptr;
}

Patience Member::patience() const {
  return {ticks(agreement_->form.patience), ticks(agreement_->form.jitter)};
}

void Member::choose(const LaunchChoice& choice) {
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
  space_.clear(reached_.party);
}

void Member::lay_packets() {
  const CollectiveShape& shape = agreement_->shape;
  const auto own = static_cast<std::size_t>(index_);
  exchange_.party = reached_.party;
  exchange_.pieces = pieces_of(shape, choice_.algorithm, index_);
  exchange_.staging = staging_of(shape, choice_.algorithm);
  exchange_.patience = patience();
  if (reached_.sources[own] != nullptr) exchange_.source = reached_.sources[own] + shape.input_offset(index_);
  exchange_.destination = reached_.destinations[own];
}

void Member::lay_peers() {
  work_ = peer_work(agreement_->shape, division_of(choice_.algorithm), index_, reached_.sources.data(),
                    reached_.destinations.data());
  work_.party = reached_.party;
  work_.patience = patience();
  if (arenas_.source != nullptr) work_.trial.source = arenas_.source->data();
  if (arenas_.destination != nullptr) work_.trial.destination = arenas_.destination->data();
}

void Member::lay_pushes() {
  const CollectiveShape& shape = agreement_->shape;
  push_ = {};
  push_.party = reached_.party;
  push_.patience = patience();
  push_.cut = push_cut_of(shape, choice_, index_);
  push_.source = reached_.sources[static_cast<std::size_t>(index_)];
  std::copy(reached_.destinations.begin(), reached_.destinations.end(), push_.destinations);
  if (arenas_.source != nullptr) push_.tried = arenas_.source->data();
  if (shape.kind == CollectiveKind::reduce_scatter)
    push_.destination_at = push_.cut.share * static_cast<Bytes>(index_);
}

void Member::lay_ring() {
  const CollectiveShape& shape = agreement_->shape;
  const auto own = static_cast<std::size_t>(index_);
  ring_ = {};
  ring_.party = reached_.party;
  ring_.patience = patience();
  ring_.cut = ring_cut_of(shape, choice_, index_);
  if (reached_.sources[own] != nullptr) ring_.source = reached_.sources[own] + shape.input_offset(index_);
  if (arenas_.source != nullptr) ring_.tried = arenas_.source->data();
  ring_.destination = reached_.destinations[own];
  ring_.next_destination = reached_.destinations[static_cast<std::size_t>(ring_.cut.next())];
  const Bytes own_block = ring_.cut.share * static_cast<Bytes>(index_);
  if (shape.kind == CollectiveKind::all_gather) ring_.source_at = own_block;
  if (shape.kind == CollectiveKind::reduce_scatter) ring_.destination_at = own_block;
}

void* Member::arguments() {
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

void Member::enqueue(gpuStream_t stream, std::uint64_t repeats) {
  const bool at_once = agreement_->form.launching == Launching::in_kernel;
  Launch launch{at_once ? repeats : 1, choice_.dependent};
  std::array<void*, 2> all{arguments(), &launch};
  const auto start = choice_.dependent == DependentLaunch::complete ? gpu::vendor::Start::complete
                                                                    : gpu::vendor::Start::programmatic;
  for (std::uint64_t made = 0; made < repeats; made += launch.calls) {
    LINKSCOPE_CHECK(gpu::vendor::launch_kernel(kernel_, dim3(choice_.blocks), dim3(choice_.threads),
                                               all.data(), stream, start));
  }
}

std::uint64_t Member::max_repeats() const {
  return agreement_->form.launching == Launching::in_kernel ? most_calls_in_kernel : gpu::queue_share;
}

void Member::arm(std::uint64_t seed) {
  check_.arm(seed);
  space_.forget_trials();
}

std::optional<Mismatch> Member::verify(std::uint64_t seed) const {
  const Workspace::Notices notices = space_.notices();
  if (auto lost = lost_member(notices)) return lost;
  if (agreement_->form.trial == Trial::on) return verify_trial(notices);
  return check_.verify(seed, 1);
}

std::optional<Mismatch> Member::fault() const {
  const Workspace::Notices notices = space_.notices();
  if (notices.wrong > 0) throw Error(Fault::mismatch, verify_trial(notices)->what);
  return lost_member(notices);
}

std::optional<Mismatch> Member::lost_member(const Workspace::Notices& notices) const {
  const std::uint64_t lost = std::max(notices.missing, notices.poison);
  if (lost == 0) return std::nullopt;
  const auto waited_ms = static_cast<std::int64_t>(std::round(agreement_->form.patience * 1e3));
  return Mismatch{agreement_->names.at(static_cast<std::size_t>(lost - 1)) + " did not come within " +
                  std::to_string(waited_ms) + " ms: all gave up"};
}

std::optional<Mismatch> Member::verify_trial(const Workspace::Notices& notices) const {
  const CollectiveShape& shape = agreement_->shape;
  const bool checks = shape.receives(index_);
  if (notices.wrong == 0 && (notices.checked > 0 || !checks)) return std::nullopt;
  if (notices.wrong == 0)
    return Mismatch{agreement_->names.at(static_cast<std::size_t>(index_)) + " checked nothing"};
  return Mismatch{std::to_string(notices.wrong) + " of " + std::to_string(notices.checked) + " elements of " +
                  agreement_->names.at(static_cast<std::size_t>(index_)) +
                  " were not what they should be, some of them in call " +
                  std::to_string(notices.wrong_call)};
}

Bytes Member::verified_bytes() const {
  return agreement_->form.trial == Trial::on ? space_.notices().checked * agreement_->shape.element_bytes()
                                             : check_.verified_bytes(1);
}

std::vector<Setting> Member::candidates() const {
  std::vector<Setting> settings;
  for (const LaunchChoice& choice : agreement_->choices) settings.push_back(choice.setting());
  return settings;
}

void Member::use(const Setting& setting) { choose(LaunchChoice::from(setting)); }

std::vector<std::string> Member::notes() const {
  std::vector<std::string> notes{"algorithm " + std::string(name_of(choice_.algorithm))};
  if (agreement_->form.launching != Launching::in_kernel)
    notes.push_back("dependent launch: " + std::string(name_of(choice_.dependent)));
  if (agreement_->form.trial == Trial::on)
    notes.emplace_back("a trial: its numbers are made up in the kernel");
  return notes;
}

}  // namespace linkscope::direct
