// Switching peer access, and telling those who have to follow.
#include "backend/gpu/peers.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

std::string name_of(int device) { return DeviceId{DeviceKind::gpu, device}.text(); }

}  // namespace

Peers::Peers(GpuContext& context) : context_(context) {}
Peers::~Peers() = default;

void Peers::find(int devices) {
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      int can = 0;
      if (from != to && gpuDeviceCanAccessPeer(&can, from, to) == gpuSuccess && can != 0) {
        possible_.emplace(from, to);
      }
    }
  }
}

Support Peers::possible(int from, int to) const {
  if (from == to || possible_.contains({from, to})) return Support::yes();
  return Support::no(name_of(from) + " has no peer access to " + name_of(to) + " [no-peer-access]");
}

PeerHold Peers::hold(int a, int b, PeerAccess wanted) {
  if (a == b) return nullptr;
  std::weak_ptr<const PeerAccess>& held = held_[std::minmax(a, b)];
  if (PeerHold kept = held.lock()) {
    if (*kept == wanted) return kept;
    throw Error(Fault::unsupported, "peer access between " + name_of(a) + " and " + name_of(b) +
                                        " cannot be on for one flow of a case and off for another: it is "
                                        "switched for whole devices");
  }
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    if (wanted == PeerAccess::on) {
      enable_one_way(from, to);
    } else {
      disable_one_way(from, to);
    }
  }
  auto hold = std::make_shared<const PeerAccess>(wanted);
  held = hold;
  return hold;
}

void Peers::enable_one_way(int from, int to) {
  if (!possible_.contains({from, to}) || enabled_.contains({from, to})) return;
  context_.use(to);
  context_.use(from);
  const gpuError_t status = gpuDeviceEnablePeerAccess(to, 0);
  if (status == gpuErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(gpuGetLastError());
  } else {
    LINKSCOPE_CHECK(status);
  }
  enabled_.emplace(from, to);
  pass_on(from, to, PeerAccess::on);
}

void Peers::disable_one_way(int from, int to) {
  if (!enabled_.contains({from, to})) return;
  context_.use(from);
  LINKSCOPE_CHECK(gpuDeviceDisablePeerAccess(to));
  enabled_.erase({from, to});
  pass_on(from, to, PeerAccess::off);
}

void Peers::pass_on(int from, int to, PeerAccess wanted) const {
  for (const auto& [id, granted] : grants_) {
    if (granted.first == to) granted.second(from, wanted);
  }
}

int Peers::add_grant(int owner, Grant grant) {
  for (const auto& [from, to] : enabled_) {
    if (to == owner) grant(from, PeerAccess::on);
  }
  const int id = grants_.empty() ? 0 : grants_.rbegin()->first + 1;
  grants_.emplace(id, std::pair{owner, std::move(grant)});
  return id;
}

void Peers::grant_once(int owner, Grant grant) {
  if (pools_granted_.insert(owner).second) static_cast<void>(add_grant(owner, std::move(grant)));
}

void Peers::remove_grant(int id) noexcept { grants_.erase(id); }

}  // namespace linkscope::gpu
