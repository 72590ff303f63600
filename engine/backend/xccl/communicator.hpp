// Communicator: GPUs, of one process or several, that call the library together.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "backend/gpu/context.hpp"
#include "backend/xccl/library.hpp"

namespace linkscope::xccl {

/// A GPU of a process.
struct RankDevice {
  int rank = 0;  ///< the process
  int device = 0;

  auto operator<=>(const RankDevice&) const = default;
};

using RankDevices = std::vector<RankDevice>;

class Communicator {
 public:
  /// Sets up the members that are of process `rank`. Every process that has members does so at the same time with the
  /// same `id`. Throws Error{broken} with the library's words.
  Communicator(std::shared_ptr<const XcclLibrary> library, std::shared_ptr<gpu::GpuContext> context,
               RankDevices members, const CommunicatorSettings& settings, int rank, const UniqueId& id);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] const XcclLibrary& library() const { return *library_; }
  [[nodiscard]] const RankDevices& members() const { return members_; }
  [[nodiscard]] const CommunicatorSettings& settings() const { return settings_; }
  /// Returns the number of `member` among the members, by which the library names peers.
  [[nodiscard]] int index_of(const RankDevice& member) const;
  /// The handle of this process's member on `device`. Throws Error{broken} after abort().
  [[nodiscard]] Comm* handle(int device) const;
  [[nodiscard]] bool broken() const { return broken_; }
  /// Throws Error{broken} where the library has met an error since its last call.
  void watch() const;
  /// Lets calls and kernels return that wait for what will not come. Nothing can be called afterwards.
  void abort() noexcept;

  /// Says that a graph with calls of this communicator is gone: some later call frees the memory of its calls, which a
  /// closed gate would keep waiting (see calls_until_settled()).
  void forget_graph() { settled_ = false; }
  /// Returns how many calls must be made, with no gate closed, before the next one behind a gate.
  [[nodiscard]] int calls_until_settled() const;
  void settle() {
    settled_ = true;
    used_ = true;
  }
  /// Tells whether its first calls have been made, which take memory.
  [[nodiscard]] bool used() const { return used_; }

 private:
  void set_up(int rank, const UniqueId& id);

  std::shared_ptr<const XcclLibrary> library_;
  std::shared_ptr<gpu::GpuContext> context_;
  RankDevices members_;
  CommunicatorSettings settings_;
  std::map<int, Comm*> handles_;  ///< by device
  std::atomic<bool> broken_{false};
  mutable std::shared_mutex looking_;  ///< shared by who looks after the handles, held by who aborts them
  bool settled_ = true;
  bool used_ = false;
};

/// Makes `device` current for what gives back. False where it is lost: what it held then goes with the process.
[[nodiscard]] bool still_answers(int device) noexcept;

/// An identifier as processes hand it on: its bytes. Throws Error{broken} where `text` is none.
[[nodiscard]] std::string text_of(const UniqueId& id);
[[nodiscard]] UniqueId read_id(const std::string& text);

/// The communicators of a process, kept for those who want the same members and settings again. What a process keeps depends only on
/// what all processes see alike, so that of a communicator's members either all find it or none does: else the one
/// would wait forever for the other to set it up.
class Communicators {
 public:
  Communicators(std::shared_ptr<const XcclLibrary> library, std::shared_ptr<gpu::GpuContext> context)
      : library_(std::move(library)), context_(std::move(context)) {}

  /// An identifier for a communicator that may be needed. While it is held nobody else is offered it.
  [[nodiscard]] std::shared_ptr<const UniqueId> offered_id();
  /// Counts a case's wish for one; called by all processes alike, whether they are among the members or not. Whatever
  /// the last few cases have not wanted is ended here, by all its members at the same time, as the library demands.
  void next_wish();
  /// A communicator that nobody else has; made where none is kept.
  [[nodiscard]] std::shared_ptr<Communicator> lease(const RankDevices& members,
                                                    const CommunicatorSettings& settings, int rank,
                                                    const UniqueId& id);

 private:
  std::shared_ptr<const XcclLibrary> library_;
  std::shared_ptr<gpu::GpuContext> context_;
  struct CachedCommunicator {
    std::shared_ptr<Communicator> communicator;
    std::uint64_t wish = 0;  ///< the last that it was for
    [[nodiscard]] bool unused() const { return communicator.use_count() == 1; }
  };

  std::vector<std::shared_ptr<const UniqueId>> spares_;  ///< of which no communicator has been made
  std::vector<CachedCommunicator> kept_;
  std::uint64_t wishes_ = 0;
};

}  // namespace linkscope::xccl
