// Fields: strict reading of a JSON object, with errors that name the place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "record/json_lines.hpp"

namespace linkscope {

/// Reads the members of one object. Every wrong type, missing or unknown member throws Error{bad_input} with
/// one line that begins with the object's place ("case 'x': flows[0].source"). Holds a reference to the JSON.
class Fields {
 public:
  Fields(const Json& object, std::string place);

  [[nodiscard]] std::string text(const std::string& name,
                                 const std::optional<std::string>& otherwise = std::nullopt);
  /// The enumerator with the place that the member's word has among `allowed`; `otherwise` where it is missing.
  template <class Enumerator>
  [[nodiscard]] Enumerator choice(const std::string& name, std::initializer_list<const char*> allowed,
                                  const std::optional<Enumerator>& otherwise = std::nullopt) {
    if (otherwise && find(name) == nullptr) return *otherwise;
    return static_cast<Enumerator>(place_of_word(name, allowed));
  }
  [[nodiscard]] std::uint64_t count(const std::string& name, std::uint64_t least,
                                    const std::optional<std::uint64_t>& otherwise = std::nullopt);
  [[nodiscard]] double number(const std::string& name, const std::optional<double>& otherwise = std::nullopt);
  /// The member, which must be there and be an array or an object.
  [[nodiscard]] const Json& array(const std::string& name);
  [[nodiscard]] const Json& object(const std::string& name);
  /// What `read` makes of each entry of an array and of its place.
  template <class Read>
  [[nodiscard]] auto entries(const std::string& name, const Read& read) {
    std::vector<std::invoke_result_t<const Read&, const Json&, const std::string&>> all;
    for (const Json& entry : array(name))
      all.push_back(read(entry, place_ + "." + name + "[" + std::to_string(all.size()) + "]"));
    return all;
  }
  /// What `read` makes of a member and of its place; nothing where it is missing.
  template <class Read>
  [[nodiscard]] auto entry(const std::string& name, const Read& read) {
    const Json* json = find(name);
    std::optional<std::invoke_result_t<const Read&, const Json&, const std::string&>> made;
    if (json != nullptr) made = read(*json, place_ + "." + name);
    return made;
  }
  /// The member, whatever it is; null where it is missing.
  [[nodiscard]] const Json* find(const std::string& name);

  /// Rejects members that nobody asked for.
  void finish() const;
  /// Throws Error{bad_input}: "place.name: what".
  [[noreturn]] void reject(const std::string& name, const std::string& what) const;

 private:
  [[nodiscard]] std::size_t place_of_word(const std::string& name,
                                          std::initializer_list<const char*> allowed);
  [[nodiscard]] const Json& require(const std::string& name);

  const Json* object_;
  std::string place_;
  std::set<std::string> known_;
};

}  // namespace linkscope
