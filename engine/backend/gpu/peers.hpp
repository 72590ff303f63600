// Peers: which GPUs reach one another's memory, and who counts on it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace linkscope::gpu {

class GpuContext;

enum class PeerAccess { on, off };

/// Keeps the peer access between two GPUs as it is, for as long as it lives. Null: nothing has to be kept.
using PeerHold = std::shared_ptr<const PeerAccess>;
/// Lets GPU `accessor` into memory that the switch for whole devices does not cover, or keeps it out.
using Grant = std::function<void(int accessor, PeerAccess wanted)>;

class Peers {
 public:
  // Defined in the .cpp: Debian's hipcc crashes where it has to make these up in a kernel's file.
  /// `context` owns it.
  explicit Peers(GpuContext& context);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Asks the driver about the first `devices` GPUs.
  void find(int devices);
  /// Yes where kernels of `from` can reach memory of `to`, the hardware and driver willing.
  [[nodiscard]] Support possible(int from, int to) const;

  /// Switches peer access of both devices to one another, as far as it is possible. The switch is the devices': throws
  /// Error{unsupported} while anybody holds it the other way.
  [[nodiscard]] PeerHold hold(int a, int b, PeerAccess wanted);

  /// Calls `grant` for every device that has access to `owner`, now and whenever that changes, until remove_grant().
  int add_grant(int owner, Grant grant);
  /// The same for all memory of `owner`'s pool, for good: the first call alone counts.
  void grant_once(int owner, Grant grant);
  void remove_grant(int id) noexcept;

 private:
  void enable_one_way(int from, int to);
  void disable_one_way(int from, int to);
  void pass_on(int from, int to, PeerAccess wanted) const;

  GpuContext& context_;
  std::set<std::pair<int, int>> possible_;
  std::set<std::pair<int, int>> enabled_;
  std::map<std::pair<int, int>, std::weak_ptr<const PeerAccess>> held_;  ///< by pair, the lower index first
  std::map<int, std::pair<int, Grant>> grants_;  ///< by id: the owner and what lets others in
  std::set<int> pools_granted_;
};

}  // namespace linkscope::gpu
