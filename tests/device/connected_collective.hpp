// Members of a direct collective with their memory, and rounds of them. For tests.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collective/direct_collective.hpp"
#include "collective/launch_choice.hpp"
#include "model/collective.hpp"
#include "model/flow_part.hpp"
#include "open_gpus.hpp"
#include "self_checks.hpp"

namespace linkscope::testing {

using Words = std::map<std::string, std::string>;

inline constexpr const char* kinds[] = {"all-reduce", "reduce",     "broadcast", "reduce-scatter",
                                        "all-gather", "all-to-all", "barrier"};

/// A collective's memory and members, connected within this process.
struct Assembled {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::unique_ptr<PreparedParts> local_parts;
  bool self_checks = false;

  [[nodiscard]] std::vector<Lane> lanes(std::uint64_t repeats) const {
    std::vector<Lane> all;
    for (Transfer* member : local_parts->transfers()) all.push_back({member, repeats});
    return all;
  }
};

/// Whether its kernels make up their inputs and check their results (self_checks.hpp).
inline bool self_checks(const Flow& flow) { return flow.parameters.all().contains("self_check"); }

/// `method`, stressed as words self_check, timeout_ms and jitter_ns among the flow's parameters say: plans cannot.
inline Method stressed(const Method& method, const Flow& flow) {
  direct::DirectAssembler assembler = *method.assemble.target<direct::DirectAssembler>();
  const auto number = [&](const std::string& name, double otherwise) {
    const auto given = flow.parameters.all().find(name);
    return given == flow.parameters.all().end() ? otherwise : std::stod(given->second);
  };
  if (self_checks(flow)) assembler.stress.kernel_of = direct::self_checking_kernel;
  assembler.stress.wait_limit = 1e-3 * number("timeout_ms", 10'000);
  assembler.stress.jitter = 1e-9 * number("jitter_ns", 0);
  return direct::direct_collective(assembler);
}

class DirectCollective : public WithGpus {
 protected:
  /// As many members as there are GPUs, up to four; on a lone one, two share it.
  [[nodiscard]] int members() const { return std::clamp(static_cast<int>(backend_->devices.size()), 2, 4); }
  [[nodiscard]] Flow flow(const std::string& kind, Bytes bytes, const Words& words) const {
    const int gpus = static_cast<int>(backend_->devices.size());
    Flow flow;
    flow.method = "direct-collective";
    flow.bytes = kind == "barrier" ? 0 : bytes;
    flow.parameters.set("collective", kind);
    for (const auto& [name, value] : words) flow.parameters.set(name, value);
    for (int member = 0; member < members(); ++member) {
      const DeviceId device{DeviceKind::gpu, member % gpus};
      flow.members.push_back(endpoint(device, "device"));
    }
    flow.executor = flow.members.front().device;
    return flow;
  }
  /// Process `rank`'s part, not yet connected. Throws Error{unsupported} where the method refuses.
  [[nodiscard]] Assembled assemble(const Flow& flow, int rank) const {
    const Method wanted = stressed(method(flow.method), flow);
    if (const Support support = wanted.supports(flow); !support)
      throw Error(Fault::unsupported, support.reason());
    Assembled assembled;
    assembled.self_checks = self_checks(flow);
    const Bytes stride = (flow.bytes + 15) / 16 * 16;
    const std::vector<FlowPart> parts = wanted.parts(flow);
    std::vector<LocalPart> own;
    const auto arena = [&](const std::optional<Endpoint>& end) -> Buffer* {
      if (!end || stride == 0) return nullptr;
      assembled.buffers.push_back(memory(end->memory).allocate(*end, stride));
      return assembled.buffers.back().get();
    };
    for (std::size_t index = 0; index < parts.size(); ++index) {
      if (parts[index].rank != rank) continue;
      own.push_back({index, {arena(parts[index].source), arena(parts[index].destination), {stride, 1}}});
    }
    assembled.local_parts = wanted.assemble(flow, own);
    return assembled;
  }
  /// All of a flow of one process.
  [[nodiscard]] Assembled assemble(const Flow& flow) const {
    Assembled assembled = assemble(flow, 0);
    assembled.local_parts->import_handles({assembled.local_parts->export_handles()});
    return assembled;
  }
  /// One round; what is wrong with it, empty where nothing is.
  [[nodiscard]] std::string round(const Assembled& assembled, std::uint64_t repeats, Clock clock,
                                  std::uint64_t seed) const {
    arm(assembled, seed);
    static_cast<void>(gate().run(assembled.lanes(repeats), clock));
    return wrong_with(assembled, seed);
  }
  static void arm(const Assembled& assembled, std::uint64_t seed) {
    for (Transfer* member : assembled.local_parts->transfers()) member->arm(seed);
    if (assembled.self_checks) direct::forget_checks();
  }
  /// What is wrong with the calls since arm(), empty where nothing is.
  [[nodiscard]] static std::string wrong_with(const Assembled& assembled, std::uint64_t seed) {
    for (const Transfer* member : assembled.local_parts->transfers()) {
      const auto mismatch = assembled.self_checks ? member->fault() : member->verify(seed);
      if (mismatch) return mismatch->what;
    }
    if (!assembled.self_checks) return {};
    const direct::CheckedElements elements = direct::checked_elements();
    if (elements.wrong == 0) return {};
    return std::to_string(elements.wrong) + " of " + std::to_string(elements.checked) +
           " elements were wrong, some of them in call " + std::to_string(elements.wrong_call);
  }
  /// The same of a flow, of one call where calls accumulate; "refused: ..." where there is no such.
  [[nodiscard]] std::string outcome(const Flow& flow, std::uint64_t repeats, Clock clock) const {
    try {
      const Assembled assembled = assemble(flow);
      const bool accumulates = assembled.local_parts->transfers().front()->facts().accumulates;
      std::string wrong = round(assembled, accumulates ? 1 : repeats, clock, ++seed_);
      const bool unchecked = assembled.self_checks && direct::checked_elements().checked == 0;
      return wrong.empty() && unchecked ? "nothing was checked" : wrong;
    } catch (const Error& error) {
      if (error.fault() != Fault::unsupported) throw;
      return std::string("refused: ") + error.what();
    }
  }
  /// Every collective by every algorithm that it has.
  template <class What>
  void each_algorithm(const What& what) const {
    for (const char* kind : kinds) {
      for (const direct::AlgorithmRow& row : direct::all_algorithms) {
        Words words{{"algorithm", std::string(direct::name_of(row.algorithm))}};
        if (method("direct-collective").supports(flow(kind, 960, words))) what(std::string(kind), words);
      }
    }
  }

 private:
  mutable std::uint64_t seed_ = 1;
};

}  // namespace linkscope::testing
