// A flow's parameters: words as the plan wrote them, read as numbers on demand.
#include "model/flow.hpp"

#include <charconv>

#include "base/error.hpp"

namespace linkscope {

std::int64_t Parameters::number(const std::string& name, std::int64_t otherwise) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(Fault::bad_input, "parameter " + name + ": '" + text + "' is not a whole number");
  }
  return value;
}

std::string Parameters::word(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

}  // namespace linkscope
