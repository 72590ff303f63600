// Flows on gpu:0, and one round of each: armed, run, verified. For tests.
#pragma once

#include <map>
#include <string>

#include "base/error.hpp"
#include "open_gpus.hpp"

namespace linkscope::testing {

class WithFlows : public WithGpus {
 protected:
  /// `source` and `destination` name memories on gpu:0 or beside it; null for an end the flow has not.
  [[nodiscard]] static Flow flow(const std::string& method, const char* source, const char* destination,
                                 Bytes bytes, const std::map<std::string, std::string>& parameters = {}) {
    Flow flow;
    flow.method = method;
    if (source != nullptr) flow.source = at(source);
    if (destination != nullptr) flow.destination = at(destination);
    flow.executor = gpu0;
    flow.bytes = bytes;
    for (const auto& [name, value] : parameters) flow.parameters.set(name, value);
    return flow;
  }
  /// What the method says against the flow; empty where it takes it.
  [[nodiscard]] std::string refusal(const Flow& flow) const {
    const Support support = method(flow.method).supports(flow);
    return support ? std::string() : support.reason();
  }
  /// Arms, runs and verifies; empty where all is right.
  [[nodiscard]] std::string fault_after(Transfer& transfer, std::uint64_t repeats, Clock clock,
                                        std::uint64_t seed) const {
    transfer.arm(seed);
    static_cast<void>(gate().run({{&transfer, repeats}}, clock));
    const auto mismatch = transfer.verify(seed);
    return mismatch ? mismatch->what : std::string();
  }
};

}  // namespace linkscope::testing
