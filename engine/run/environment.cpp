// Reads LINKSCOPE_* variables.
#include "run/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

namespace linkscope {

Environment Environment::read() {
  Environment environment;
  if (const char* seed = std::getenv("LINKSCOPE_SEED")) {
    const std::string_view text = seed;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), environment.first_seed);
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw Error(Fault::bad_input, "LINKSCOPE_SEED: '" + std::string(text) + "' is no whole number");
    }
  }
  return environment;
}

}  // namespace linkscope
