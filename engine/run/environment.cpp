// Reads LINKSCOPE_* variables.
#include "run/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace linkscope {
namespace {

Waiting parse_waiting(const std::string& text) {
  if (text == "spin") return Waiting::spin;
  if (text == "yield") return Waiting::yield;
  if (text == "block") return Waiting::block;
  throw Error(Fault::bad_input, "LINKSCOPE_SYNC: '" + text + "' is none of spin, yield and block");
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  if (const char* seed = std::getenv("LINKSCOPE_SEED")) {
    const std::string_view text = seed;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), environment.first_seed);
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw Error(Fault::bad_input, "LINKSCOPE_SEED: '" + std::string(text) + "' is no whole number");
    }
  }
  if (const char* waiting = std::getenv("LINKSCOPE_SYNC")) environment.waiting = parse_waiting(waiting);
  return environment;
}

}  // namespace linkscope
