// memcpy: the C library's copy, by one or more CPU threads.
#include <cstring>

#include "backend/host/backend.hpp"
#include "backend/host/slot_transfer.hpp"
#include "backend/host/word_loops.hpp"

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

Method memcpy_copy(const std::shared_ptr<HostContext>& context) {
  constexpr Parameter non_temporal =
      integer("non_temporal",
              "1: streaming stores past the caches at every size; 0: the C library decides by size", 0, 1, 0);
  Method row{{"memcpy", "the C library's memcpy by CPU threads"}, {thread_count, non_temporal}};
  row.supports = [=](const Flow& flow) {
    if (!flow.source || !flow.destination) return Support::no("memcpy needs a source and a destination");
    if (const Support can = threads_reach(*context, flow); !can) return can;
    return flow.parameters.number(non_temporal) == 1 ? can_store_non_temporal() : Support::yes();
  };
  row.rotation_bytes = [context](const Flow& flow) {
    return context->rotation_bytes({flow.executor, flow.source->device, flow.destination->device}) /
           both_ends;
  };
  row.prepare = [=](const Flow& flow, const Arenas& arenas) {
    const bool streaming = flow.parameters.number(non_temporal) == 1;
    return std::make_unique<MemcpyTransfer>(flow, arenas, streaming ? non_temporal_copy() : nullptr);
  };
  return row;
}

}  // namespace linkscope::host
