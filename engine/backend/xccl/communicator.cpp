// Setting communicators up and ending them.
#include "backend/xccl/communicator.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace linkscope::xccl {
namespace {

/// The library frees what a graph's calls held in every tenth call of its communicator (NCCL 2.19 and later).
constexpr int calls_that_reclaim = 12;
constexpr std::uint64_t most_kept = 8;  // each takes a few hundred MiB of every member

}  // namespace

Communicator::Communicator(std::shared_ptr<const XcclLibrary> library,
                           std::shared_ptr<gpu::GpuContext> context, RankDevices members,
                           const CommunicatorSettings& settings, int rank, const UniqueId& id)
    : library_(std::move(library)),
      context_(std::move(context)),
      members_(std::move(members)),
      settings_(settings) {
  for (const RankDevice& member : members_) {
    if (member.rank == rank) handles_[member.device] = nullptr;
  }
  try {
    set_up(rank, id);
  } catch (const Error& error) {
    abort();
    std::string devices;
    for (const auto& [device, unused] : handles_)
      devices += (devices.empty() ? "gpu:" : ", gpu:") + std::to_string(device);
    throw Error(error.fault(), library_->name() + " cannot set up " + devices + ": " + error.what());
  }
}

void Communicator::set_up(int rank, const UniqueId& id) {
  Group group(*library_);
  for (std::size_t index = 0; index < members_.size(); ++index) {
    if (members_[index].rank != rank) continue;
    context_->use(members_[index].device);
    Comm*& handle = handles_.at(members_[index].device);
    library_->init(&handle, static_cast<int>(members_.size()), id, static_cast<int>(index), settings_);
  }
  group.end();
}

Communicator::~Communicator() {
  if (broken_) return;
  for (const auto& [device, handle] : handles_) {
    if (still_answers(device)) static_cast<void>(library_->api().comm_destroy(handle));
  }
}

int Communicator::index_of(const RankDevice& member) const {
  const auto found = std::find(members_.begin(), members_.end(), member);
  return static_cast<int>(found - members_.begin());
}

Comm* Communicator::handle(int device) const {
  if (broken_) throw Error(Fault::broken, library_->name() + ": the communicator has been given up");
  return handles_.at(device);
}

void Communicator::watch() const {
  const std::shared_lock looking(looking_);
  for (const auto& [device, unused] : handles_) {
    Result found = Result::success;
    library_->check(library_->api().comm_get_async_error(handle(device), &found), "ncclCommGetAsyncError");
    if (found == Result::in_progress) continue;
    const std::string who = library_->name() + " on gpu:" + std::to_string(device);
    library_->check(found, who.c_str());
  }
}

void Communicator::abort() noexcept {
  if (broken_.exchange(true)) return;
  const std::scoped_lock alone(looking_);
  for (const auto& [device, handle] : handles_) {
    if (handle != nullptr) static_cast<void>(library_->api().comm_abort(handle));
  }
}

int Communicator::calls_until_settled() const { return settled_ ? 1 : calls_that_reclaim; }

bool still_answers(int device) noexcept {
  static_cast<void>(gpuSetDevice(device));
  const gpuError_t state = gpuStreamQuery(nullptr);
  if (state == gpuErrorNotReady) static_cast<void>(gpuGetLastError());
  return state == gpuSuccess || state == gpuErrorNotReady;
}

std::string text_of(const UniqueId& id) { return {id.bytes.begin(), id.bytes.end()}; }

UniqueId read_id(const std::string& text) {
  UniqueId id{};
  if (text.size() != id.bytes.size())
    throw Error(Fault::broken, "no identifier came from the process of the first member");
  std::copy(text.begin(), text.end(), id.bytes.begin());
  return id;
}

std::shared_ptr<const UniqueId> Communicators::offered_id() {
  for (const auto& spare : spares_) {
    if (spare.use_count() == 1) return spare;
  }
  const auto made = std::make_shared<UniqueId>();
  library_->check(library_->api().get_unique_id(made.get()), "ncclGetUniqueId");
  return spares_.emplace_back(made);
}

void Communicators::next_wish() {
  ++wishes_;
  std::erase_if(
      kept_, [&](const CachedCommunicator& one) { return one.unused() && one.wish + most_kept < wishes_; });
}

std::shared_ptr<Communicator> Communicators::lease(const RankDevices& members,
                                                   const CommunicatorSettings& settings, int rank,
                                                   const UniqueId& id) {
  std::erase_if(kept_,
                [](const CachedCommunicator& one) { return one.unused() && one.communicator->broken(); });
  auto known = std::find_if(kept_.begin(), kept_.end(), [&](const CachedCommunicator& one) {
    return one.unused() && one.communicator->members() == members && one.communicator->settings() == settings;
  });
  if (known == kept_.end()) {
    std::erase_if(spares_, [&](const auto& spare) { return spare->bytes == id.bytes; });
    kept_.push_back(
        {std::make_shared<Communicator>(library_, context_, members, settings, rank, id), wishes_});
    known = kept_.end() - 1;
  }
  known->wish = wishes_;
  return known->communicator;
}

}  // namespace linkscope::xccl
