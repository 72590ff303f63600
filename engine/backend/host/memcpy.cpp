#include "backend/host/memcpy.hpp"

#include <cstring>

#include "backend/host/non_temporal.hpp"
#include "backend/host/slot_transfer.hpp"

namespace linkscope::host {

namespace {

class MemcpyTransfer final : public SlotTransfer {
 public:
  MemcpyTransfer(const Flow& flow, const Arenas& arenas, CopyFunction copy)
      : SlotTransfer(flow, arenas), copy_(copy) {}

  void perform(unsigned part, std::uint64_t first, std::uint64_t repeats) noexcept override {
    std::byte* const to = arenas().destination->data();
    const std::byte* const from = arenas().source->data();
    if (copy_ != nullptr) {
      sweep(part, first, repeats,
            [=, this](Bytes offset, Bytes size) { copy_(to + offset, from + offset, size); });
    } else {
      sweep(part, first, repeats,
            [=](Bytes offset, Bytes size) { std::memcpy(to + offset, from + offset, size); });
    }
  }

 private:
  CopyFunction copy_;  // null: memcpy itself, so that the call is the application's own
};

}  // namespace

std::map<std::string, std::string> Memcpy::parameters() const {
  auto all = thread_parameters();
  all["non_temporal"] =
      "1: streaming stores past the caches at every size; 0 (default): the C library decides by size";
  return all;
}

Support Memcpy::supports(const Flow& flow) const {
  if (!flow.source || !flow.destination) return Support::no("memcpy needs a source and a destination");
  for (const Endpoint* end : {&*flow.source, &*flow.destination}) {
    if (const Support reached = context_->reachable(*end); !reached) return reached;
  }
  if (const Support enough = threads_available(*context_, flow); !enough) return enough;
  if (const Support understood = non_temporal_understood(flow); !understood) return understood;
  return wants_non_temporal(flow) ? can_store_non_temporal() : Support::yes();
}

std::unique_ptr<Transfer> Memcpy::prepare(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<MemcpyTransfer>(flow, arenas,
                                          wants_non_temporal(flow) ? non_temporal_copy() : nullptr);
}

Bytes Memcpy::rotation_bytes(const Flow& flow) const {
  return context_->rotation_bytes({flow.executor, flow.source->device, flow.destination->device});
}

}  // namespace linkscope::host
