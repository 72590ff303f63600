// Causes as words for people and as payloads of messages.
#include "comm/cause.hpp"

#include <array>
#include <cstring>
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

/// The kind, then the ranks, of which there is one at least.
std::string pack_facts(const Cause& cause) {
  std::string facts(sizeof cause.kind + cause.ranks.size() * sizeof(int), '\0');
  std::memcpy(facts.data(), &cause.kind, sizeof cause.kind);
  std::memcpy(facts.data() + sizeof cause.kind, cause.ranks.data(), facts.size() - sizeof cause.kind);
  return facts;
}

std::optional<Cause> unpack_facts(const std::string& facts) {
  Cause cause;
  if (facts.size() <= sizeof cause.kind || facts.size() % sizeof(int) != 0) return std::nullopt;
  std::memcpy(&cause.kind, facts.data(), sizeof cause.kind);
  if (static_cast<std::size_t>(cause.kind) >= names.size()) return std::nullopt;
  cause.ranks.resize((facts.size() - sizeof cause.kind) / sizeof(int));
  std::memcpy(cause.ranks.data(), facts.data() + sizeof cause.kind, facts.size() - sizeof cause.kind);
  return cause;
}

}  // namespace

const char* name_of(CauseKind kind) { return names.at(static_cast<std::size_t>(kind)); }

std::string pack_causes(const Causes& causes) {
  std::vector<std::string> packed;
  for (const Cause& cause : causes) {
    packed.push_back(pack_facts(cause));
    packed.push_back(cause.words);
  }
  return pack(packed);
}

std::optional<Causes> unpack_causes(const std::string& payload) {
  const auto packed = unpack(payload);
  if (!packed || packed->empty() || packed->size() % 2 != 0) return std::nullopt;
  Causes causes;
  for (std::size_t i = 0; i < packed->size(); i += 2) {
    auto cause = unpack_facts((*packed)[i]);
    if (!cause) return std::nullopt;
    cause->words = (*packed)[i + 1];
    causes.push_back(*std::move(cause));
  }
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
