// The words of advice and the calls they stand for.
#include "backend/gpu/memory/advice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::array<std::pair<std::string_view, Advice>, 4> words = {{
    {"preferred-location", Advice::preferred_location},
    {"accessed-by", Advice::accessed_by},
    {"read-mostly", Advice::read_mostly},
    {"coarse-grained", Advice::coarse_grained},
}};

constexpr int the_host = -1;

Advice advice_of(std::string_view word) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const auto& known) { return known.first == word; });
  if (found != words.end()) return found->second;
  std::string known;
  for (const auto& [name, advice] : words) known += (known.empty() ? "" : ", ") + std::string(name);
  throw Error(Fault::bad_input, "advice: '" + std::string(word) + "' is none of " + known);
}

void map_everywhere(const GpuContext& context, std::byte* address, Bytes bytes, const DeviceId& home) {
  for (int device = 0; device < context.device_count(); ++device) {
    if (context.device(device).concurrent_managed) LINKSCOPE_CHECK(vendor::map_into(address, bytes, device));
  }
  if (home.kind == DeviceKind::gpu) LINKSCOPE_CHECK(vendor::map_into(address, bytes, the_host));
}

}  // namespace

std::set<Advice> parse_advice(std::string_view text) {
  std::set<Advice> found;
  while (!text.empty()) {
    const auto end = std::min(text.find('+'), text.size());
    found.insert(advice_of(text.substr(0, end)));
    if (end + 1 == text.size()) static_cast<void>(advice_of(""));  // a word is missing after the last '+'
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

Support can_advise(const std::set<Advice>& advice) {
  if (advice.contains(Advice::coarse_grained) && !vendor::has_grains) {
    return Support::no("coarse-grained advice is AMD's: NVIDIA's memory has no grain");
  }
  return Support::yes();
}

void advise(const GpuContext& context, std::byte* address, Bytes bytes, const Endpoint& where) {
  const std::set<Advice> wanted = parse_advice(where.advice);
  const bool on_gpu = where.device.kind == DeviceKind::gpu;
  const bool bound = where.placement == Placement::bound;
  const int home = on_gpu ? where.device.index : the_host;
  if (wanted.contains(Advice::coarse_grained)) LINKSCOPE_CHECK(vendor::coarse_grained(address, bytes, home));
  if (wanted.contains(Advice::read_mostly)) LINKSCOPE_CHECK(vendor::read_mostly(address, bytes));
  if (bound || wanted.contains(Advice::preferred_location))
    LINKSCOPE_CHECK(vendor::prefer_location(address, bytes, home));
  if ((bound && !on_gpu) || wanted.contains(Advice::accessed_by))
    map_everywhere(context, address, bytes, where.device);
}

}  // namespace linkscope::gpu
