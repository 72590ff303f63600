// Handshakes as lines of text.
#include "comm/handshake.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <sstream>

#include "base/steady_clock.hpp"

namespace linkscope {
namespace {

constexpr const char* first_line = "linkscope";

bool read_line(std::istream& in, std::string& line) { return static_cast<bool>(std::getline(in, line)); }

bool read_line(std::istream& in, int& number) {
  std::string line;
  if (!read_line(in, line)) return false;
  const char* end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, number);
  return error == std::errc{} && stop == end;
}

std::string value_of(const Handshake& handshake, const std::string& name) {
  for (const HandshakeField& field : handshake.fields) {
    if (field.name == name) return field.value;
  }
  return "none";
}

}  // namespace

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
  std::ostringstream out;
  out << first_line << '\n' << token << '\n' << rank << '\n' << size << '\n' << host << '\n' << clock << '\n';
  for (const HandshakeField& field : fields) out << field.name << '\n' << field.value << '\n';
  return out.str();
}

std::optional<Handshake> Handshake::parse(const std::string& text) {
  std::istringstream in(text);
  std::string first;
  Handshake handshake;
  const bool whole = read_line(in, first) && first == first_line && read_line(in, handshake.token) &&
                     read_line(in, handshake.rank) && read_line(in, handshake.size) &&
                     read_line(in, handshake.host) && read_line(in, handshake.clock);
  if (!whole) return std::nullopt;
  HandshakeField field;
  while (read_line(in, field.name) && read_line(in, field.value)) handshake.fields.push_back(field);
  return handshake;
}

std::string Handshake::name() const { return name_of_rank(rank, host); }

std::optional<std::string> disagreement(const Handshake& first, const Handshake& other) {
  const auto differ = [&](const std::string& what, const std::string& theirs, const std::string& ours) {
    return other.name() + " has " + what + " " + theirs + ", " + first.name() + " has " + ours +
           ": every process must be given the same plan and the same engine";
  };
  if (first.size != other.size)
    return differ("a world size of", std::to_string(other.size), std::to_string(first.size));
  for (const HandshakeField& field : first.fields) {
    const std::string theirs = value_of(other, field.name);
    if (theirs != field.value) return differ(field.name, theirs, field.value);
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
