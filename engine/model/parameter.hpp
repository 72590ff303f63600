// Parameter: what a plan may set of a method. Parameters: what a plan has set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace linkscope {

/// One line of a method's table of parameters. A plan that breaks it is refused when it is bound; `describe` prints it.
/// Made by integer(), word() and their kin, as a constant by which the method reads the value.
struct Parameter {
  enum class Kind { integer, word, text };

  std::string_view name;  ///< of a literal, as all texts here
  std::string_view text;  ///< what it means, without its values
  Kind kind = Kind::text;
  std::int64_t least = 0;  ///< of an integer
  std::int64_t most = 0;   ///< of an integer
  // NOLINTBEGIN(readability-redundant-member-init): lets initialisers leave them out
  std::optional<std::int64_t> otherwise =
      {};                       ///< where the plan sets none: the value, or the index of the word
  std::string_view words = {};  ///< "end|return", in the order of an enum class
  // NOLINTEND(readability-redundant-member-init)

  /// Why `value` cannot be set, one line; empty where it can.
  [[nodiscard]] std::string objection(const std::string& value) const;
  /// Meaning, values and default, one line.
  [[nodiscard]] std::string line() const;
  /// The word of that place, which there is.
  [[nodiscard]] constexpr std::string_view word_at(std::size_t index) const {
    std::string_view rest = words;
    for (; index > 0; --index) rest.remove_prefix(rest.find('|') + 1);
    return rest.substr(0, rest.find('|'));
  }
};

/// A whole number from `least` to `most`. Without `otherwise` the method chooses where the plan sets none.
constexpr Parameter integer(std::string_view name, std::string_view text, std::int64_t least,
                            std::int64_t most, std::optional<std::int64_t> otherwise = {}) {
  return {name, text, Parameter::Kind::integer, least, most, otherwise};
}

/// One of `words`, which are divided by bars; the first where the plan sets none.
constexpr Parameter word(std::string_view name, std::string_view words, std::string_view text) {
  return {name, text, Parameter::Kind::word, 0, 0, 0, words};
}

/// One of `words`; the method chooses where the plan sets none.
constexpr Parameter optional_word(std::string_view name, std::string_view words, std::string_view text) {
  return {name, text, Parameter::Kind::word, 0, 0, {}, words};
}

/// Text that the method itself reads, and refuses with Error{bad_input}.
constexpr Parameter text(std::string_view name, std::string_view text) { return {name, text}; }

/// A flow's parameters, as the plan wrote them.
class Parameters {
 public:
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  [[nodiscard]] const std::map<std::string, std::string>& all() const { return values_; }
  [[nodiscard]] bool sets(const Parameter& parameter) const;

  /// The number that the plan sets; nothing where it sets none. Throws Error{bad_input} where it is none of the
  /// parameter's, which a bound plan's is.
  [[nodiscard]] std::optional<std::int64_t> given_number(const Parameter& parameter) const;
  /// The number, or the parameter's own where the plan sets none.
  [[nodiscard]] std::int64_t number(const Parameter& parameter) const {
    return given_number(parameter).value_or(parameter.otherwise.value_or(0));
  }
  /// The word that the plan sets, as `Word`, an enum class in the order of the parameter's words.
  template <class Word>
  [[nodiscard]] std::optional<Word> given_choice(const Parameter& parameter) const {
    const std::optional<std::int64_t> index = given_index(parameter);
    return index ? std::optional<Word>(static_cast<Word>(*index)) : std::nullopt;
  }
  /// The word, or the parameter's own where the plan sets none.
  template <class Word>
  [[nodiscard]] Word choice(const Parameter& parameter) const {
    return given_choice<Word>(parameter).value_or(static_cast<Word>(parameter.otherwise.value_or(0)));
  }
  /// The text that the plan sets.
  [[nodiscard]] std::optional<std::string> given_text(const Parameter& parameter) const;

 private:
  [[nodiscard]] std::optional<std::int64_t> given_index(const Parameter& parameter) const;

  std::map<std::string, std::string> values_;
};

}  // namespace linkscope
