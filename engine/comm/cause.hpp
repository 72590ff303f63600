// Cause: which process kept the others from going on, and how.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "record/json_lines.hpp"

namespace linkscope {

enum class CauseKind {
  failed,       ///< it could not do its part, and said so
  late,         ///< it has not come within the time limit
  gone,         ///< its connection has ended
  out_of_step,  ///< it sends what is not due
  disagrees,    ///< it was given something else than the others
};

/// As schema/result.schema.json has it.
NLOHMANN_JSON_SERIALIZE_ENUM(CauseKind, {{CauseKind::failed, "failed"},
                                         {CauseKind::late, "late"},
                                         {CauseKind::gone, "gone"},
                                         {CauseKind::out_of_step, "out-of-step"},
                                         {CauseKind::disagrees, "disagrees"}})

struct Cause {
  CauseKind kind = CauseKind::failed;
  std::vector<int> ranks;
  std::string words;  ///< one clause for the user: "rank 2 (host node7) is gone"

  bool operator==(const Cause&) const = default;
};
LINKSCOPE_JSON(Cause, kind, ranks, words)

/// The causes of an error, in the order in which they came.
using Causes = std::vector<Cause>;

/// Returns the causes that text_of() has written; none where `text` is something else.
inline Causes causes_in(const std::string& text) {
  const auto said = parsed<Json>(text);
  const auto causes = said ? parsed<Causes>(text) : std::nullopt;
  return causes && Json(*causes) == *said ? *causes : Causes{};  // an unknown kind would be the first of them
}

/// Returns a GroupError's causes; an error that is this process's own has none.
Causes causes_of(const std::exception& error);

/// An error that other processes have a part in. Its words are those of its causes.
class GroupError : public Error {
 public:
  GroupError(Fault fault, Causes causes)
      : Error(fault, words_of(causes)), causes_(std::make_shared<const Causes>(std::move(causes))) {}
  /// `error` as it is, but of another fault.
  GroupError(Fault fault, const Error& error)
      : Error(fault, error.what()), causes_(std::make_shared<const Causes>(causes_of(error))) {}

  [[nodiscard]] const Causes& causes() const noexcept { return *causes_; }

 private:
  static std::string words_of(const Causes& causes) {
    std::string words;
    for (const Cause& cause : causes) words += (words.empty() ? "" : "; ") + cause.words;
    return words;
  }

  std::shared_ptr<const Causes> causes_;  ///< shared: copying an exception must not throw
};

inline Causes causes_of(const std::exception& error) {
  const auto* of_group = dynamic_cast<const GroupError*>(&error);
  return of_group == nullptr ? Causes{} : of_group->causes();
}

}  // namespace linkscope
