// Reading what atomic operations a flow asks for.
#include "backend/gpu/kernel/atomic_work.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

AtomicOperation operation_of(const Parameters& parameters) {
  const std::string word = parameters.word("operation", "add");
  if (word == "add") return AtomicOperation::add;
  if (word == "exchange") return AtomicOperation::exchange;
  if (word == "cas") return AtomicOperation::compare_and_swap;
  throw Error(Fault::bad_input, "parameter operation: add, exchange or cas");
}

}  // namespace

AtomicWork AtomicWork::of(const Flow& flow) {
  AtomicWork work;
  work.operation = operation_of(flow.parameters);
  const std::int64_t width = flow.parameters.number("width", 4);
  if (width != 4 && width != 8) throw Error(Fault::bad_input, "parameter width: 4 or 8");
  work.width = static_cast<Bytes>(width);
  work.count = std::max<std::uint64_t>(flow.bytes / work.width, 1);
  const std::int64_t addresses = flow.parameters.number("addresses", static_cast<std::int64_t>(work.count));
  if (addresses < 1) throw Error(Fault::bad_input, "parameter addresses: at least 1");
  work.addresses = std::min(static_cast<std::uint64_t>(addresses), work.count);
  return work;
}

}  // namespace linkscope::gpu
