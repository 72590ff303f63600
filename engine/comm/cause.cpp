// Causes as words for people.
#include "comm/cause.hpp"

#include <utility>

namespace linkscope {
namespace {

std::string words_of(const Causes& causes) {
  std::string words;
  for (const Cause& cause : causes) words += (words.empty() ? "" : "; ") + cause.words;
  return words;
}

}  // namespace

GroupError::GroupError(Fault fault, Causes causes)
    : Error(fault, words_of(causes)), causes_(std::make_shared<const Causes>(std::move(causes))) {}

GroupError::GroupError(Fault fault, const Error& error)
    : Error(fault, error.what()), causes_(std::make_shared<const Causes>(causes_of(error))) {}

Causes causes_of(const std::exception& error) {
  const auto* of_group = dynamic_cast<const GroupError*>(&error);
  return of_group == nullptr ? Causes{} : of_group->causes();
}

}  // namespace linkscope
