// What values a parameter takes.
#include "model/parameter.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace linkscope {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t bar = std::min(words.find('|', at), words.size());
    all.push_back(words.substr(at, bar - at));
    at = bar + 1;
  }
  return all;
}

/// Returns each value that a plan may set, where there are a few: words, or two numbers.
std::vector<std::string> few_values(const Parameter& parameter) {
  std::vector<std::string> all;
  if (parameter.kind == Parameter::Kind::word) {
    for (const std::string_view word : split(parameter.words)) all.emplace_back(word);
  } else if (parameter.most == parameter.least + 1) {
    all = {std::to_string(parameter.least), std::to_string(parameter.most)};
  }
  return all;
}

/// From here on a largest number is no limit that a user meets, and is not listed.
constexpr std::int64_t boundless = std::int64_t{1} << 32U;

std::string values_of(const Parameter& parameter) {
  const std::vector<std::string> all = few_values(parameter);
  const std::string least = std::to_string(parameter.least);
  if (all.empty() && parameter.most >= boundless) return "at least " + least;
  if (all.empty()) return least + " to " + std::to_string(parameter.most);
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i];
  return text;
}

/// Tells whether the text has an entry "value: meaning" for every value, so that a list would repeat them.
bool explains_all(const Parameter& parameter) {
  const std::vector<std::string> all = few_values(parameter);
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const std::string& value) {
    return parameter.text.starts_with(value + ":") ||
           parameter.text.find(" " + value + ":") != std::string_view::npos;
  });
}

}  // namespace

std::string Parameter::objection(const std::string& value) const {
  const auto is_not = [&](const std::string& what) { return "'" + value + "' is not " + what; };
  if (kind == Kind::integer) {
    const auto number = whole_number(value);
    if (!number) return is_not("a whole number below 2^63");
    if (*number > most && most >= boundless) return is_not("at most " + std::to_string(most));
    return *number < least || *number > most ? is_not(values_of(*this)) : "";
  }
  if (kind == Kind::text) return "";
  const std::vector<std::string_view> all = split(words);
  return std::find(all.begin(), all.end(), value) == all.end() ? is_not(values_of(*this)) : "";
}

std::string Parameter::line() const {
  std::string line(text);
  if (kind == Kind::text) return line;
  if (!explains_all(*this)) line += "; " + values_of(*this);
  if (!otherwise) return line;
  const bool is_word = kind == Kind::word;
  const auto index = static_cast<std::size_t>(*otherwise);
  return line + "; default: " + (is_word ? std::string(split(words)[index]) : std::to_string(*otherwise));
}

bool Parameters::sets(const Parameter& parameter) const {
  return values_.contains(std::string(parameter.name));
}

std::optional<std::string> Parameters::given_text(const Parameter& parameter) const {
  const auto given = values_.find(std::string(parameter.name));
  if (given == values_.end()) return std::nullopt;
  const std::string objection = parameter.objection(given->second);
  if (!objection.empty()) throw Error(Fault::bad_input, "parameter " + given->first + ": " + objection);
  return given->second;
}

std::optional<std::int64_t> Parameters::given_number(const Parameter& parameter) const {
  const std::optional<std::string> value = given_text(parameter);
  return value ? whole_number(*value) : std::nullopt;
}

std::optional<std::int64_t> Parameters::given_index(const Parameter& parameter) const {
  const std::optional<std::string> value = given_text(parameter);
  if (!value) return std::nullopt;
  const std::vector<std::string_view> all = split(parameter.words);
  return std::find(all.begin(), all.end(), *value) - all.begin();
}

}  // namespace linkscope
