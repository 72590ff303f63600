// Managed memory: one address, pages that a driver moves, and what it is advised to do with them.
#include "backend/gpu/memory/memories.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/device_buffer.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "backend/host/context.hpp"
#include "backend/host/host_buffer.hpp"
#include "backend/host/memory_room.hpp"
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

/// Says whether this vendor has all of it.
Support can_advise(const std::set<Advice>& advice) {
  if (advice.contains(Advice::coarse_grained) && !vendor::has_grains) {
    return Support::no("coarse-grained advice is AMD's: NVIDIA's memory has no grain");
  }
  return Support::yes();
}

/// Gives `where`'s advice, and what its placement stands for: bound is a preferred location, and on the host a mapping
/// into every GPU as well.
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

class ManagedMemory final : public GpuMemory {
 public:
  explicit ManagedMemory(std::shared_ptr<GpuContext> context)
      : GpuMemory(std::move(context),
                  {"managed", "memory that migrates to who uses it (cudaMallocManaged, hipMallocManaged)",
                   managed_traits}) {}

  [[nodiscard]] bool takes_advice() const override { return true; }
  [[nodiscard]] Support available() const override {
    if (const Support has_gpu = GpuMemory::available(); !has_gpu) return has_gpu;
    for (int device = 0; device < context().device_count(); ++device) {
      if (context().device(device).concurrent_managed) return Support::yes();
    }
    return Support::no(
        "no GPU here shares managed memory with the CPU while it works (concurrentManagedAccess is 0)");
  }
  [[nodiscard]] std::optional<RuntimeCalls> runtime_calls(DeviceKind /*where*/) const override {
    return managed_calls;
  }
  [[nodiscard]] Support supports(const Endpoint& where) const override {
    if (const Support here = available(); !here) return here;
    if (const Support advised = can_advise(parse_advice(where.advice)); !advised) return advised;
    for (const DeviceId& device : {where.device, where.first_touch}) {
      Support known =
          device.kind == DeviceKind::gpu ? context().has(device) : context().host().can_hold(device);
      if (!known) return known;
      if (device.kind == DeviceKind::gpu && !context().device(device.index).concurrent_managed) {
        return Support::no(device.text() + " has no concurrent access to managed memory");
      }
    }
    return Support::yes();
  }
  /// Pages that nothing binds keep a history: see Memory.
  [[nodiscard]] bool reusable(const Endpoint& where) const override {
    return where.placement == Placement::bound;
  }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(const Endpoint& where, Bytes bytes) const override {
    const bool on_gpu = where.device.kind == DeviceKind::gpu;
    const int keeper = on_gpu ? where.device.index : context().nearest_gpu(where.device.index);
    if (!on_gpu || where.first_touch.kind == DeviceKind::numa)
      host::MemoryRoom::wait_for(bytes, std::nullopt);
    auto room = std::make_shared<const ManagedRoom>(shared_context(), keeper, bytes);
    void* memory = nullptr;
    LINKSCOPE_CHECK(gpuMallocManaged(&memory, bytes, gpuMemAttachGlobal));
    auto* address = static_cast<std::byte*>(memory);
    // The room holds the context, so that the driver outlives the memory.
    const auto give_back = [room = std::move(room)](std::byte* at) { static_cast<void>(gpuFree(at)); };
    std::unique_ptr<Buffer> buffer;
    if (on_gpu) {
      buffer = std::make_unique<DeviceBuffer>(where, bytes, address, give_back, shared_context(), keeper);
    } else {
      buffer = std::make_unique<host::HostBuffer>(where, bytes, address, give_back,
                                                  context().host().workers(where.device.index));
    }
    advise(context(), address, bytes, where);
    touch_from(context(), address, bytes, where.first_touch);
    return buffer;
  }
};

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

std::unique_ptr<GpuMemory> managed_memory(std::shared_ptr<GpuContext> context) {
  return std::make_unique<ManagedMemory>(std::move(context));
}

}  // namespace linkscope::gpu
