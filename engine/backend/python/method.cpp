// The rows of Python's methods, and how a flow's parts are made ready among processes.
#include "backend/python/method.hpp"

#include <string>
#include <utility>
#include <vector>

#include "backend/python/transfer.hpp"
#include "base/error.hpp"
#include "model/collective.hpp"

namespace linkscope::python {
namespace {

using Words = std::map<std::string, std::string>;

Words copy_parameters() { return {{"non_blocking", "yes (default) or no, as Tensor.copy_ takes it"}}; }

Words call_parameters() {
  return {{"call",
           "send (default; with clock: host each message is answered, so the time includes arrival) or "
           "ping-pong: there and back, given as the time of one way"}};
}

Words distributed_parameters() {
  return {{"backend", "auto (default: nccl for memory of GPUs, else gloo), nccl or gloo"},
          {"form",
           "eager (default): a call each time; graph: calls recorded once, launched as a graph, which needs "
           "NCCL"},
          {"recorded", "calls that one graph holds, 1 (default) to 64"}};
}

Words send_parameters() {
  Words all = distributed_parameters();
  all.merge(call_parameters());
  return all;
}

Words torch_collective_parameters() {
  Words all = distributed_parameters();
  all["collective"] =
      "all-reduce (default), reduce, broadcast, reduce-scatter, all-gather, all-to-all, barrier";
  all["type"] = "float32 (default), float16, bfloat16, int32";
  all["in_place"] = "no (default) or yes; all-reduce, reduce and broadcast support only yes";
  return all;
}

const char* word_of(Clock clock) {
  switch (clock) {
    case Clock::device:
      return "device";
    case Clock::host:
      return "host";
    case Clock::batch:
      return "batch";
  }
  return "";
}

const char* word_of(Cache cache) {
  switch (cache) {
    case Cache::warm:
      return "warm";
    case Cache::rotated:
      return "rotated";
    case Cache::flushed:
      return "flushed";
  }
  return "";
}

Message told(const Endpoint& end) {
  return {{"device", end.device.text()},
          {"memory", end.memory},
          {"first_touch", end.first_touch.text()},
          {"advice", end.advice},
          {"rank", end.rank}};
}

Message told(const Flow& flow) {
  Message json{{"method", flow.method},       {"executor", flow.executor.text()},
               {"rank", flow.rank},           {"bytes", flow.bytes},
               {"members", Message::array()}, {"parameters", flow.parameters.all()}};
  if (flow.source) json["source"] = told(*flow.source);
  if (flow.destination) json["destination"] = told(*flow.destination);
  for (const Endpoint& member : flow.members) json["members"].push_back(told(member));
  return json;
}

Message told(const Regime& regime) {
  return {{"clock", word_of(regime.clock)}, {"cache", word_of(regime.cache)}};
}

/// This process's part, if it has one, and what its child must know of the flow either way.
class PythonParts final : public PreparedParts {
 public:
  PythonParts(std::shared_ptr<PythonContext> context, const Flow& flow, const std::vector<LocalPart>& own)
      : context_(std::move(context)), flow_(told(flow)), id_(context_->next_transfer()) {
    if (own.empty()) return;
    transfer_ = std::make_unique<PythonTransfer>(context_, id_, own.front().regime.clock);
    regime_ = told(own.front().regime);
    static_cast<void>(ask("prepare"));
  }

  [[nodiscard]] std::vector<Transfer*> transfers() const override {
    return transfer_ ? std::vector<Transfer*>{transfer_.get()} : std::vector<Transfer*>{};
  }
  [[nodiscard]] std::string export_handles() override { return ask("export_handles").dump(); }
  void import_handles(const std::vector<std::string>& exports) override {
    Message all = Message::array();
    for (const std::string& exported : exports) all.push_back(Message::parse(exported));
    const Message facts = ask("import_handles", {{"exports", std::move(all)}});
    if (transfer_) transfer_->learn(facts);
  }

 private:
  Message ask(const char* what, Message command = Message::object()) {
    command.update({{"do", what}, {"id", id_}, {"flow", flow_}, {"regime", regime_}});
    return context_->child().ask(command);
  }

  std::shared_ptr<PythonContext> context_;
  Message flow_;
  Message regime_;  ///< null where no part is here
  std::uint64_t id_;
  std::unique_ptr<PythonTransfer> transfer_;
};

}  // namespace

const std::array<PythonMethodRow, 4>& method_rows() {
  constexpr double tensor_fill = 1;  // GB/s, by tensor operations
  static constexpr std::array<PythonMethodRow, 4> rows{{
      {{"torch-copy",
        "Tensor.copy_ between two devices of one process",
        Quantity::bandwidth,
        {.stages = true, .by_python = true, .fill_gbps = tensor_fill, .calls = "copy-engine"}},
       "torch",
       FlowEnds::one_process,
       copy_parameters},
      {{"torch-send",
        "send and recv of torch.distributed between two processes",
        Quantity::bandwidth,
        {.stages = true,
         .by_python = true,
         .answered = true,
         .host_gbps = 1.5,
         .fill_gbps = tensor_fill,
         .calls = "xccl"}},
       "distributed",
       FlowEnds::two_processes,
       send_parameters},
      {{"torch-collective",
        "collectives of torch.distributed, one member in each process",
        Quantity::bandwidth,
        {.stages = true,
         .by_python = true,
         .host_gbps = 0.6,
         .fill_gbps = tensor_fill,
         .calls = "xccl-collective"}},
       "distributed",
       FlowEnds::members,
       torch_collective_parameters},
      {{"torch-mpi",
        "Send and Recv of mpi4py on tensors between two processes",
        Quantity::bandwidth,
        {.stages = true,
         .by_mpi = true,
         .by_python = true,
         .takes_empty = true,
         .answered = true,
         .host_gbps = 4,
         .gpu_gbps = 50,
         .fill_gbps = tensor_fill,
         .calls = "mpi"}},
       "mpi",
       FlowEnds::two_processes,
       call_parameters},
  }};
  return rows;
}

Quantity PythonMethod::quantity_of(const Flow& flow) const {
  const bool there_and_back = flow.parameters.word("call", "send") == "ping-pong";
  const bool barrier = flow.parameters.word("collective", "") == "barrier";
  return there_and_back || barrier || flow.bytes == 0 ? Quantity::latency : Quantity::bandwidth;
}

Support PythonMethod::supports_in(const Flow& flow, const Case& wanted) const {
  if (wanted.flows.size() > 1)
    return Support::no(flow.method + " is timed by itself: PyTorch starts several flows one after another");
  if (wanted.regime.load == Load::sustained)
    return Support::no("one flow alone has no load to sustain for others");
  const Message problem = context_->child().ask(
      {{"do", "check"}, {"needs", row_->needs}, {"flow", told(flow)}, {"regime", told(wanted.regime)}});
  return problem.is_null() ? Support::yes() : Support::no(problem.get<std::string>());
}

std::vector<FlowPart> PythonMethod::parts(const Flow& flow) const {
  switch (row_->ends) {
    case FlowEnds::one_process:
      return ClassMethod::parts(flow);
    case FlowEnds::two_processes:
      return {{flow.source->rank, flow.source->device, flow.source, std::nullopt, Timing::timed},
              {flow.destination->rank, flow.destination->device, std::nullopt, flow.destination,
               Timing::untimed}};
    case FlowEnds::members:
      return collective_parts(flow);
  }
  return {};
}

std::unique_ptr<PreparedParts> PythonMethod::assemble(const Flow& flow,
                                                      const std::vector<LocalPart>& own) const {
  return std::make_unique<PythonParts>(context_, flow, own);
}

std::unique_ptr<Transfer> PythonMethod::prepare(const Flow& flow, const Arenas& /*arenas*/) const {
  throw Error(Fault::broken, flow.method + ": assemble() makes it ready");
}

}  // namespace linkscope::python
