// The rows of Python's methods, how a flow's parts are made ready among processes, and their commands to the child.
#include "backend/python/methods.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/collective.hpp"
#include "model/copy_check.hpp"

namespace linkscope::python {
namespace {

constexpr Parameter non_blocking = word("non_blocking", "yes|no", "as Tensor.copy_ takes it");
constexpr Parameter call =
    word("call", "send|ping-pong",
         "send: with clock: host each message is answered, so the time includes arrival; "
         "ping-pong: there and back, given as the time of one way");
constexpr Parameter backend = word("backend", "auto|nccl|gloo", "auto: nccl for memory of GPUs, else gloo");
constexpr Parameter form =
    word("form", "eager|graph",
         "eager: a call each time; graph: calls recorded once, launched as a graph, which needs "
         "NCCL");
constexpr Parameter recorded = integer("recorded", "calls that one graph holds", 1, 64, 1);
constexpr Parameter torch_in_place =
    word("in_place", "no|yes", "all-reduce, reduce and broadcast support only yes");

constexpr Parameter device_form =
    word("form", "eager|graph", "eager: a call each time; graph: calls recorded once");
constexpr Parameter symmetric_algorithm = word("algorithm", "one-shot|two-shot|copy-engine",
                                               "one-shot: all-reduce; two-shot: all-reduce, reduce-scatter; "
                                               "copy-engine: all-gather, reduce-scatter");
constexpr Parameter flashinfer_algorithm =
    word("algorithm", "auto|one-shot|two-shot", "auto: FlashInfer's choice by size");
constexpr Parameter mscclpp_algorithm =
    word("algorithm", "auto|packet|rsag-zero-copy", "auto: packets to 512 KiB, then zero copy");
constexpr Parameter symmetric_in_place =
    word("in_place", "no|yes", "two-shot's all-reduce supports only yes, all others only no");
constexpr Parameter nvshmem_in_place = word("in_place", "no|yes", "all-reduce alone supports yes");
constexpr Parameter operation = word("operation", "put|get|put-signal",
                                     "the source puts, with or without a signal; the destination gets");
constexpr Parameter caller = word("caller", "block|warp|thread|stream",
                                  "each block, warp or thread of a kernel calls for its share, with quiet; "
                                  "stream: the host calls");
constexpr Parameter blocks = integer("blocks", "blocks of a kernel, of 1024 threads each", 1, 1024, 32);
constexpr Parameter repeats_parameter =
    integer("repeats", "operations or round trips in one call", 1, 1000, 1);
constexpr Parameter one_sided_call =
    word("call", "transfer|ping-pong",
         "ping-pong: put-signal there and back by one block, warp or thread, given as the time of one way");
constexpr double tensor_fill = 1;  // GB/s, by tensor operations

// These words are in the order of Clock and Cache.
constexpr std::array clocks{"device", "host", "batch"};
constexpr std::array caches{"warm", "rotated", "flushed"};

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
  return {{"clock", clocks.at(static_cast<std::size_t>(regime.clock))},
          {"cache", caches.at(static_cast<std::size_t>(regime.cache))}};
}

/// This process's part, if it has one; its child is told of the flow either way.
std::unique_ptr<PreparedParts> assemble(const std::shared_ptr<PythonContext>& context, const Flow& flow,
                                        const std::vector<LocalPart>& own) {
  const std::uint64_t id = context->next_transfer();
  Message about{{"id", id}, {"flow", told(flow)}, {"regime", nullptr}};
  std::unique_ptr<PythonTransfer> transfer;
  if (!own.empty()) {
    transfer = std::make_unique<PythonTransfer>(context, id, own.front().regime.clock);
    about["regime"] = told(own.front().regime);
  }
  const auto ask = [context, about](const char* what, Message command = Message::object()) {
    command.update(about);
    command["do"] = what;
    return context->child().ask(command);
  };
  PythonTransfer* const at = transfer.get();
  if (at != nullptr) static_cast<void>(ask("prepare"));
  return std::make_unique<SinglePart>(
      std::move(transfer), [ask] { return ask("export_handles").dump(); },
      [ask, at](const std::vector<std::string>& exports) {
        Message all = Message::array();
        for (const std::string& exported : exports) all.push_back(Message::parse(exported));
        const Message facts = ask("import_handles", {{"exports", std::move(all)}});
        if (at != nullptr) at->learn(facts);
      });
}

using QuantityOf = Quantity (*)(const Flow&);
constexpr QuantityOf by_bytes = [](const Flow& flow) {
  return flow.bytes == 0 ? Quantity::latency : Quantity::bandwidth;
};
constexpr QuantityOf by_collective = [](const Flow& flow) {
  const bool barrier =
      flow.parameters.given_choice<CollectiveKind>(collective_kind) == CollectiveKind::barrier;
  return barrier ? Quantity::latency : by_bytes(flow);
};
/// `way`: a parameter whose second word is ping-pong.
Quantity by_way(const Flow& flow, const Parameter& way) {
  enum class ThereOrBack { there, there_and_back };
  const bool ping_pong = flow.parameters.given_choice<ThereOrBack>(way) == ThereOrBack::there_and_back;
  return ping_pong ? Quantity::latency : by_bytes(flow);
}
constexpr QuantityOf by_call = [](const Flow& flow) { return by_way(flow, call); };
constexpr QuantityOf by_one_sided_call = [](const Flow& flow) { return by_way(flow, one_sided_call); };

/// `needs`: as PythonContext::has.
Support taken_in(PythonContext& context, const char* needs, const Flow& flow, const Case& wanted) {
  if (wanted.flows.size() > 1)
    return Support::no(flow.method + " is timed by itself: PyTorch starts several flows one after another");
  if (wanted.regime.load == Load::sustained)
    return Support::no("one flow alone has no load to sustain for others");
  const Message problem = context.child().ask(
      {{"do", "check"}, {"needs", needs}, {"flow", told(flow)}, {"regime", told(wanted.regime)}});
  return problem.is_null() ? Support::yes() : Support::no(problem.get<std::string>());
}

using Parts = std::vector<FlowPart> (*)(const Flow&);
constexpr Parts two_processes = [](const Flow& flow) { return message_parts(flow); };
/// The part of the flow's executor is timed.
constexpr Parts by_executor = [](const Flow& flow) {
  return message_parts(flow, false, flow.rank == flow.source->rank ? Side::source : Side::destination);
};

/// `parts`: null where a flow is in one process.
Method row(const std::shared_ptr<PythonContext>& context, const MethodSpec& spec, const char* needs,
           Parts parts, QuantityOf quantity_of, std::vector<Parameter> parameters) {
  return {
      .spec = spec,
      .parameters = std::move(parameters),
      .available = [context, needs] { return context->has(needs); },
      .supports_in = [context, needs](const Flow& flow,
                                      const Case& wanted) { return taken_in(*context, needs, flow, wanted); },
      .quantity_of = quantity_of,
      .footprint = [](const Flow& /*flow*/) { return Bytes{0}; },
      .parts = parts,
      .assemble = [context](const Flow& flow,
                            const std::vector<LocalPart>& own) { return assemble(context, flow, own); },
      .assembled_reach = parts == nullptr ? Reach::process : Reach::processes};
}

/// The executor pushes or pulls, and its part is timed.
Method nixl(const std::shared_ptr<PythonContext>& context) {
  constexpr Parameter pieces = integer("count", "pieces of one transfer", 1, 131072, 1);
  constexpr Parameter scatter =
      word("scatter", "no|yes", "yes: pieces lie in shuffled order, another at either end");
  return row(context,
             {"nixl",
              "lists of pieces between two processes by NVIDIA's NIXL over UCX, pushed or pulled",
              Quantity::bandwidth,
              {.by_python = true, .fill_gbps = 1}},
             "nixl", by_executor, by_bytes, {pieces, scatter});
}

/// A collective by kernels on one another's GPU memory, which the child maps.
Method mapping(const std::shared_ptr<PythonContext>& context, std::string_view name, std::string_view summary,
               const char* needs, std::vector<Parameter> parameters = {}) {
  constexpr MethodTraits traits{.maps_members = true, .by_python = true, .fill_gbps = tensor_fill};
  parameters.insert(parameters.end(), {device_form, recorded, collective_kind, element_type});
  return row(context, {name, summary, Quantity::bandwidth, traits}, needs, &collective_parts, by_collective,
             std::move(parameters));
}

Method put_or_get(const std::shared_ptr<PythonContext>& context) {
  constexpr MethodTraits traits{.maps_members = true, .by_python = true, .fill_gbps = tensor_fill};
  return row(
      context,
      {"nvshmem", "puts and gets of NVIDIA's NVSHMEM between two processes", Quantity::bandwidth, traits},
      "nvshmem", by_executor, by_one_sided_call,
      {operation, caller, blocks, repeats_parameter, one_sided_call, device_form, recorded});
}

PythonTransfer& transfer_of(const Lane& lane) { return dynamic_cast<PythonTransfer&>(*lane.transfer); }

}  // namespace

PythonTransfer::~PythonTransfer() {
  try {
    context_->child().tell(
        command("release"));  // no answer: one that waits for lost partners must not hold this process up
  } catch (const std::exception&) {
    return;  // it is gone, and what it held with it
  }
}

void PythonTransfer::learn(const Message& facts) {
  facts.at("operations").get_to(own_facts().operations);
  facts.at("max_repeats").get_to(own_facts().max_repeats);
  facts.at("calls_in_a_row").get_to(own_facts().calls_in_a_row);
  facts.at("min_sample_s").get_to(own_facts().min_sample_s);
  facts.at("accumulates").get_to(own_facts().accumulates);
  notes_ = facts.at("notes").get<std::vector<std::string>>();
}

void PythonTransfer::arm(std::uint64_t seed) {
  Message armed = command("arm");
  armed["seed"] = seed;
  static_cast<void>(context_->child().ask(armed));
}

std::optional<Mismatch> PythonTransfer::verify(std::uint64_t seed) const {
  Message asked = command("verify");
  asked["seed"] = seed;
  const Message found = context_->child().ask(asked);
  verified_bytes_ = found.at("bytes").get<Bytes>();
  if (found.at("wrong").is_null()) return std::nullopt;
  return Mismatch{found.at("wrong").get<std::string>()};
}

void PythonTransfer::begin(std::uint64_t repeats) {
  Message run = command("run");
  run["repeats"] = repeats;
  context_->child().tell(run);
}

Span PythonTransfer::end() {
  const Message ran = context_->child().hear();
  notes_ = ran.at("notes").get<std::vector<std::string>>();
  const auto start = ran.at("start_s").get<Seconds>();
  const Seconds end = start + ran.at("seconds").get<Seconds>();
  return {start, end, end};
}

Support PythonGate::accepts(const Transfer& transfer) const {
  return dynamic_cast<const PythonTransfer*>(&transfer) != nullptr
             ? Support::yes()
             : Support::no("it is not a transfer of the Python child's");
}

void PythonGate::hold(const std::vector<Lane>& lanes, Clock clock) {
  for (const Lane& lane : lanes) {
    if (lane.tail > 0 || transfer_of(lane).clock() != clock)
      throw Error(Fault::broken, "the Python child times by its case's clock and carries no load besides");
  }
  held_ = lanes;
}

void PythonGate::open() {
  for (const Lane& lane : held_) transfer_of(lane).begin(lane.repeats);
}

std::vector<Span> PythonGate::collect() {
  std::vector<Span> spans;
  for (const Lane& lane : std::exchange(held_, {})) spans.push_back(transfer_of(lane).end());
  return spans;
}

std::vector<Method> methods(const std::shared_ptr<PythonContext>& context) {
  return {row(context,
              {"torch-copy",
               "Tensor.copy_ between two devices of one process",
               Quantity::bandwidth,
               {.stages = true, .by_python = true, .fill_gbps = tensor_fill, .calls = "copy-engine"}},
              "torch", nullptr, by_bytes, {non_blocking}),
          row(context,
              {"torch-send",
               "send and recv of torch.distributed between two processes",
               Quantity::bandwidth,
               {.stages = true,
                .by_python = true,
                .answered = true,
                .host_gbps = 1.5,
                .fill_gbps = tensor_fill,
                .calls = "xccl"}},
              "distributed", two_processes, by_call, {backend, form, recorded, call}),
          row(context,
              {"torch-collective",
               "collectives of torch.distributed, one member in each process",
               Quantity::bandwidth,
               {.stages = true,
                .by_python = true,
                .host_gbps = 0.6,
                .fill_gbps = tensor_fill,
                .calls = "xccl-collective"}},
              "distributed", &collective_parts, by_collective,
              {backend, form, recorded, collective_kind, element_type, torch_in_place}),
          mapping(context, "torch-symm-mem", "collectives of torch.ops.symm_mem, without multicast",
                  "distributed", {symmetric_algorithm, symmetric_in_place}),
          mapping(context, "vllm-all-reduce", "all-reduce by vLLM's kernels (CustomAllreduce)", "vllm"),
          mapping(context, "flashinfer-all-reduce", "all-reduce by FlashInfer's kernels", "flashinfer",
                  {flashinfer_algorithm}),
          mapping(context, "mscclpp-all-reduce", "all-reduce by MSCCL++, without multicast", "mscclpp",
                  {mscclpp_algorithm}),
          mapping(context, "nvshmem-collective", "collectives of NVIDIA's NVSHMEM on a stream", "nvshmem",
                  {nvshmem_in_place}),
          put_or_get(context),
          row(context,
              {"torch-mpi",
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
              "mpi", two_processes, by_call, {call}),
          nixl(context)};
}

}  // namespace linkscope::python
