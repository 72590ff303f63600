// Sums and written words of page faults.
#include "backend/gpu/migration/faulted_pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/host/context.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

namespace linkscope::gpu {
namespace {

/// The GPU's node or the host end itself.
int checking_node(const GpuContext& context, const Flow& flow) {
  if (flow.source->device.kind == DeviceKind::numa) return flow.source->device.index;
  return std::max(0, context.device(flow.source->device.index).numa);
}

}  // namespace

PageTouch touch_of(const Flow& flow) {
  const std::string access = flow.parameters.word("access", "write");
  const std::string touch = flow.parameters.word("touch", "page");
  if (access != "read" && access != "write")
    throw Error(Fault::bad_input, "parameter access: '" + access + "' is neither read nor write");
  if (touch != "page" && touch != "word")
    throw Error(Fault::bad_input, "parameter touch: '" + touch + "' is neither page nor word");
  return {access == "read" ? TouchAccess::read : TouchAccess::write, flow.bytes,
          touch == "page" ? static_cast<Bytes>(sysconf(_SC_PAGESIZE)) : word_bytes};
}

FaultedPages::FaultedPages(const std::shared_ptr<GpuContext>& context, const Flow& flow, const Arenas& arenas)
    : context_(context),
      touch_(touch_of(flow)),
      slots_(context, *arenas.source, flow.bytes, arenas.rotation, flow.executor),
      node_(checking_node(*context, flow)) {}

void FaultedPages::arm(std::uint64_t seed) {
  seed_ = seed;
  slots_.fill(seed);
}

std::uint64_t FaultedPages::expected_sum(std::uint64_t done) const {
  std::uint64_t sum = 0;
  for (std::uint64_t slot = 0; slot < slots_.touched(done); ++slot) {
    const std::uint64_t visits = done / slots_.count() + (slot < done % slots_.count() ? 1 : 0);
    const std::uint64_t seed = seed_of(slot);
    std::uint64_t words = 0;
    for (std::uint64_t i = 0; i < touch_.words(); ++i)
      words += pattern_word(seed, i * touch_.step / word_bytes);
    sum += visits * words;
  }
  return sum;
}

/// The check reads the pages on the host and leaves them as they are: it can be repeated.
std::optional<Mismatch> FaultedPages::compare_written(std::uint64_t slot) const {
  const std::uint64_t seed = seed_of(slot);
  migrate(*context_, at(slot), touch_.bytes, {DeviceKind::numa, node_});
  const auto* const words = reinterpret_cast<const std::uint64_t*>(at(slot));
  const std::uint64_t step = touch_.step / word_bytes;
  std::atomic<std::uint64_t> first_bad{touch_.bytes / word_bytes};
  context_->host().workers(node_).share_pinned(touch_.bytes, [&](Bytes from, Bytes length) {
    const std::uint64_t end = (from + length + word_bytes - 1) / word_bytes;
    for (std::uint64_t i = (from + word_bytes - 1) / word_bytes; i < end; ++i) {
      if (words[i] == (i % step == 0 ? touched_word(seed, i) : pattern_word(seed, i))) continue;
      std::uint64_t known = first_bad.load();
      while (i < known && !first_bad.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  if (first_bad == touch_.bytes / word_bytes) return std::nullopt;
  return Mismatch{"the word at byte " + std::to_string(first_bad * word_bytes) + " of " +
                  std::to_string(touch_.bytes) + " in slot " + std::to_string(slot) + " of " +
                  std::to_string(slots_.count()) +
                  (first_bad % step == 0 ? " does not hold what was written"
                                         : " was not touched and is not what it was")};
}

std::optional<Mismatch> FaultedPages::verify(std::uint64_t done, std::uint64_t sum) const {
  if (touch_.access == TouchAccess::read) {
    if (sum == expected_sum(done)) return std::nullopt;
    return Mismatch{"the words that " + std::to_string(done) +
                    " transfers read do not add up to those that were there"};
  }
  for (std::uint64_t slot = 0; slot < slots_.touched(done); ++slot) {
    if (auto wrong = compare_written(slot)) return wrong;
  }
  return std::nullopt;
}

Bytes FaultedPages::verified_bytes(std::uint64_t done) const {
  const bool words_alone = touch_.access == TouchAccess::read;
  return slots_.touched(done) * (words_alone ? touch_.words() * word_bytes : touch_.bytes);
}

}  // namespace linkscope::gpu
