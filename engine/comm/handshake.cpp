// What handshakes say, and whether two agree.
#include "comm/handshake.hpp"

#include <unistd.h>

#include <array>
#include <map>

#include "base/steady_clock.hpp"

namespace linkscope {
std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string clock_identity() {
  const std::string boot = boot_id();
  if (boot.empty()) return {};
  std::array<char, 64> zone{};
  // Kernels before 5.6 have no time namespaces, and nothing to read.
  const bool zoned = ::readlink("/proc/self/ns/time", zone.data(), zone.size() - 1) > 0;
  return boot + "/" + host_name() + "/" + (zoned ? zone.data() : "");
}

std::string Handshake::text() const {
  return Json(*this).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Handshake> Handshake::parse(const std::string& text) {
  try {
    return Json::parse(text).get<Handshake>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string Handshake::name() const { return name_of_rank(rank, host); }

std::optional<std::string> disagreement(const Handshake& first, const Handshake& other) {
  const auto differ = [&](const std::string& what, const std::string& theirs, const std::string& ours) {
    return other.name() + " has " + what + " " + theirs + ", " + first.name() + " has " + ours +
           ": every process must be given the same plan and the same engine";
  };
  if (first.size != other.size)
    return differ("a world size of", std::to_string(other.size), std::to_string(first.size));
  const std::map<std::string, std::string> said(other.fields.begin(), other.fields.end());
  for (const auto& [name, value] : first.fields) {
    const std::string theirs = said.contains(name) ? said.at(name) : "none";
    if (theirs != value) return differ(name, theirs, value);
  }
  return std::nullopt;
}

bool same_secret(const std::string& one, const std::string& other) {
  if (one.size() != other.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    different |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return different == 0;
}

std::string name_of_rank(int rank, const std::string& host) {
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " (host " + host + ")");
}

}  // namespace linkscope
