// Cause: which process kept the others from going on, and how.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace linkscope {

enum class CauseKind : std::uint32_t {
  failed,       ///< it could not do its part, and said so
  late,         ///< it has not come within the time limit
  gone,         ///< its connection has ended
  out_of_step,  ///< it sends what is not due
  disagrees,    ///< it was given something else than the others
};

struct Cause {
  CauseKind kind = CauseKind::failed;
  std::vector<int> ranks;
  std::string words;  ///< one clause for the user: "rank 2 (host node7) is gone"

  bool operator==(const Cause&) const = default;
};

/// The causes of an error, in the order in which they came.
using Causes = std::vector<Cause>;

/// "failed", "late", ...: as schema/result.schema.json has it.
const char* name_of(CauseKind kind);

/// Writes causes into a message.
std::string pack_causes(const Causes& causes);
/// None where `payload` holds none.
std::optional<Causes> unpack_causes(const std::string& payload);

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
