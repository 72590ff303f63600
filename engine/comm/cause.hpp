// Cause: which process kept the others from going on, and how.
#pragma once

#include <memory>
#include <string>
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

/// An error that other processes have a part in. Its words are those of its causes.
class GroupError : public Error {
 public:
  GroupError(Fault fault, Causes causes);
  /// `error` as it is, but of another fault.
  GroupError(Fault fault, const Error& error);

  [[nodiscard]] const Causes& causes() const noexcept { return *causes_; }

 private:
  std::shared_ptr<const Causes> causes_;  ///< shared: copying an exception must not throw
};

/// Returns a GroupError's causes; an error that is this process's own has none.
Causes causes_of(const std::exception& error);

}  // namespace linkscope
