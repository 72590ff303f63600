// What a process states of its transfers, as JSON.
#include "run/remote_transfer.hpp"

namespace linkscope {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TransferFacts, operations, max_repeats, max_calls_in_batch, calls_in_a_row,
                                   min_sample_s, accumulates, checks_starts, collective, touched_bytes,
                                   call_group, candidates, setting)

RemoteTransfer::RemoteTransfer(const Json& stated)
    : notes_(stated.at("notes").get<std::vector<std::string>>()) {
  own_facts() = stated.at("facts").get<TransferFacts>();
}

Json statement_of(const Transfer& transfer) {
  return {{"facts", transfer.facts()}, {"notes", transfer.notes()}};
}

}  // namespace linkscope
