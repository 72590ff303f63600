// Region: reading shapes.
#include "model/region.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace linkscope {
namespace {

constexpr std::size_t dimensions = 3;
constexpr Bytes longest = Bytes{1} << 40U;  // of one dimension
constexpr Bytes largest = Bytes{1} << 48U;  // of all: beyond any machine's memory, far from overflow

[[noreturn]] void reject(const std::string& name, const std::string& text, const char* why) {
  throw Error(Fault::bad_input, "parameter " + name + ": '" + text + "' " + why);
}

/// "WIDTHxROWSxPLANES"; what is left out at the end is 1.
Region parse(const std::string& name, const std::string& text) {
  std::vector<Bytes> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    Bytes number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number == 0 || number > longest || numbers.size() == dimensions) {
      reject(name, text, "is no WIDTHxROWSxPLANES (bytes, rows, planes; each at least 1)");
    }
    numbers.push_back(number);
    if (next == end) break;
    if (*next != 'x') reject(name, text, "is no WIDTHxROWSxPLANES (bytes, rows, planes; each at least 1)");
    at = next + 1;
  }
  numbers.resize(dimensions, 1);
  if (numbers[1] > largest / numbers[0] || numbers[2] > largest / (numbers[0] * numbers[1])) {
    reject(name, text, "is more than any machine holds");
  }
  return {.width = numbers[0], .rows = numbers[1], .planes = numbers[2]};
}

}  // namespace

Region region_of(const Flow& flow) {
  const std::string text = flow.parameters.given_text(region_shape).value_or(std::to_string(flow.bytes));
  const std::string around = flow.parameters.given_text(region_container).value_or(text);
  const Region region = parse("region", text);
  const Region in = parse("in", around);
  if (region.width > in.width || region.rows > in.rows || region.planes > in.planes) {
    reject("region", text, ("does not fit in " + around).c_str());
  }
  const Region found{region.width, region.rows, region.planes, in.width, in.width * in.rows};
  if (found.payload() != flow.bytes) {
    reject("region", text,
           ("holds " + std::to_string(found.payload()) + " bytes, the flow has " + std::to_string(flow.bytes))
               .c_str());
  }
  return found;
}

}  // namespace linkscope
