// Strict reading of JSON objects.
#include "run/fields.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace linkscope {

Fields::Fields(const Json& object, std::string place) : object_(&object), place_(std::move(place)) {
  if (!object.is_object()) throw Error(Fault::bad_input, place_ + ": must be an object");
}

void Fields::reject(const std::string& name, const std::string& what) const {
  throw Error(Fault::bad_input, place_ + ": " + name + ": " + what);
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const auto member = object_->find(name);
  return member == object_->end() ? nullptr : &*member;
}

const Json& Fields::require(const std::string& name) {
  const Json* member = find(name);
  if (member == nullptr) reject(name, "is missing");
  return *member;
}

std::string Fields::text(const std::string& name, const std::optional<std::string>& otherwise) {
  if (otherwise && find(name) == nullptr) return *otherwise;
  const Json& member = require(name);
  if (!member.is_string()) reject(name, "must be a text");
  return member.get<std::string>();
}

std::size_t Fields::place_of_word(const std::string& name, std::initializer_list<const char*> allowed) {
  const std::string value = text(name);
  const auto* const found = std::find(allowed.begin(), allowed.end(), value);
  if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  std::string choices;
  for (const char* choice : allowed) choices += (choices.empty() ? "" : ", ") + std::string(choice);
  reject(name, "'" + value + "' is none of " + choices);
}

std::uint64_t Fields::count(const std::string& name, std::uint64_t least,
                            const std::optional<std::uint64_t>& otherwise) {
  if (otherwise && find(name) == nullptr) return *otherwise;
  const Json& member = require(name);
  if (!member.is_number_unsigned() || member.get<std::uint64_t>() < least) {
    reject(name, "must be a whole number of at least " + std::to_string(least));
  }
  return member.get<std::uint64_t>();
}

double Fields::number(const std::string& name, const std::optional<double>& otherwise) {
  if (otherwise && find(name) == nullptr) return *otherwise;
  const Json& member = require(name);
  if (!member.is_number()) reject(name, "must be a number");
  return member.get<double>();
}

const Json& Fields::array(const std::string& name) {
  const Json& member = require(name);
  if (!member.is_array()) reject(name, "must be an array");
  return member;
}

const Json& Fields::object(const std::string& name) {
  const Json& member = require(name);
  if (!member.is_object()) reject(name, "must be an object");
  return member;
}

void Fields::finish() const {
  for (const auto& [name, value] : object_->items()) {
    if (!known_.contains(name)) reject(name, "is no field that an engine reads");
  }
}

}  // namespace linkscope
