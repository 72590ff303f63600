// Support: yes, or the reason why not.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace linkscope {

/// Yes, or one line saying why not (a vendor's own words where there are any).
class Support {
 public:
  static Support yes() { return Support{{}}; }
  static Support no(std::string reason) { return Support{std::move(reason)}; }
  explicit operator bool() const { return !reason_.has_value(); }
  /// Only where the answer is no.
  [[nodiscard]] const std::string& reason() const { return *reason_; }

 private:
  explicit Support(std::optional<std::string> reason) : reason_(std::move(reason)) {}
  std::optional<std::string> reason_;
};

}  // namespace linkscope
