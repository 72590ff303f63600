// Causes as words for people and as payloads of messages.
#include "comm/cause.hpp"

#include <array>
#include <utility>

#include "comm/payloads.hpp"

namespace linkscope {
namespace {

constexpr std::array names{"failed", "late", "gone", "out-of-step", "disagrees"};

std::string words_of(const Causes& causes) {
  std::string words;
  for (const Cause& cause : causes) words += (words.empty() ? "" : "; ") + cause.words;
  return words;
}

}  // namespace

const char* name_of(CauseKind kind) { return names.at(static_cast<std::size_t>(kind)); }

std::string pack_causes(const Causes& causes) {
  Pack out;
  out.put<std::uint64_t>(causes.size());
  for (const Cause& cause : causes) {
    out.put(static_cast<std::int32_t>(cause.kind)).put<std::uint64_t>(cause.ranks.size());
    for (const std::int32_t rank : cause.ranks) out.put(rank);
    out.text(cause.words);
  }
  return out.bytes();
}

std::optional<Causes> unpack_causes(const std::string& payload) {
  auto causes = unpacked(payload, [](Unpack& in) {
    Causes all(in.count());
    for (Cause& cause : all) {
      cause.kind = static_cast<CauseKind>(in.number(0, names.size() - 1));
      cause.ranks.resize(in.count());
      for (int& rank : cause.ranks) rank = in.get<std::int32_t>();
      cause.words = in.text();
    }
    return all;
  });
  if (causes && causes->empty()) causes.reset();
  return causes;
}

GroupError::GroupError(Fault fault, Causes causes)
    : Error(fault, words_of(causes)), causes_(std::make_shared<const Causes>(std::move(causes))) {}

GroupError::GroupError(Fault fault, const Error& error)
    : Error(fault, error.what(), error.where()), causes_(std::make_shared<const Causes>(causes_of(error))) {}

Causes causes_of(const std::exception& error) {
  const auto* of_group = dynamic_cast<const GroupError*>(&error);
  return of_group == nullptr ? Causes{} : of_group->causes();
}

}  // namespace linkscope
