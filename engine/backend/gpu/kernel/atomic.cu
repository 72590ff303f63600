// kernel-atomic: atomic operations by a GPU's threads on words wherever the destination is.
#include <algorithm>
#include <cstdio>
#include <string>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/graph/forms.hpp"
#include "backend/gpu/kernel/access_pattern.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

namespace linkscope::gpu {
namespace {

using vendor::Scope;
using Wide = Counter;

/// Every word before the first operation: what poison() lays.
template <class Word>
constexpr Word initial_word = static_cast<Word>(poison_byte * 0x0101010101010101ULL);

/// What is added to the word at `index` of the arena, or the first value written to it. Odd: as long as fewer
/// operations are lost than the word has values, no loss leaves the sum right.
template <class Word>
__device__ Word operand(std::uint64_t seed, std::uint64_t index) {
  return static_cast<Word>(pattern_word(~seed, index) | 1U);
}

/// The kernels report this.
struct Report {
  Wide returned;  ///< sum of all that exchanges gave back
  Wide attempts;  ///< compare-and-swaps tried
};

/// One operation on the word, which is the `lap`-th there as far as this transfer goes; `laps_before` came before it.
template <AtomicOperation operation, Scope scope, class Word>
__device__ void operate(Word* word, Word operand, std::uint64_t lap, std::uint64_t laps_before,
                        Wide& returned, Wide& attempts) {
  if constexpr (operation == AtomicOperation::add) vendor::atomic_add<scope>(word, operand);
  if constexpr (operation == AtomicOperation::exchange) {
    returned += vendor::atomic_exchange<scope>(word, static_cast<Word>(operand + lap));
  }
  if constexpr (operation == AtomicOperation::compare_and_swap) {
    // The first guess is right where nobody else works on this word.
    Word expected = initial_word<Word> + static_cast<Word>(laps_before + lap) * operand;
    for (;;) {
      ++attempts;
      const Word found =
          vendor::atomic_compare_and_swap<scope>(word, expected, static_cast<Word>(expected + operand));
      if (found == expected) break;
      expected = found;
    }
  }
}

/// `round`: how often all slots have been gone through before this launch began at sweep.first.
template <AtomicOperation operation, Scope scope, class Word>
__global__ void atomic_kernel(Sweep sweep, AtomicWork work, std::uint64_t seed, std::uint64_t round,
                              Report* report) {
  const std::uint64_t words_step = thread_count() % work.addresses;
  const std::uint64_t laps_step = thread_count() / work.addresses;
  Wide returned = 0;
  Wide attempts = 0;
  std::uint64_t visits = sweep.first;
  for_each_repeat(sweep, [&](Bytes slot) {
    const std::uint64_t rounds = round + visits++ / sweep.slots;
    auto* const words = reinterpret_cast<Word*>(sweep.destination + slot);
    std::uint64_t word = thread_index() % work.addresses;
    std::uint64_t lap = thread_index() / work.addresses;
    for (std::uint64_t i = thread_index(); i < work.count; i += thread_count()) {
      operate<operation, scope>(words + word, operand<Word>(seed, slot / sizeof(Word) + word), lap,
                                rounds * work.laps(word), returned, attempts);
      word += words_step;
      lap += laps_step;
      if (word < work.addresses) continue;
      word -= work.addresses;
      ++lap;
    }
  });
  if constexpr (operation == AtomicOperation::exchange) add_block(returned, &report->returned);
  if constexpr (operation == AtomicOperation::compare_and_swap) add_block(attempts, &report->attempts);
}

/// A word of the arena and what `transfers` from slot 0 on should have made of it.
template <class Word>
struct WordCheck {
  Sweep sweep;
  AtomicWork work;
  std::uint64_t seed;
  std::uint64_t transfers;

  /// No offset where the word is right. After exchanges it is the last value of any thread's.
  __device__ Bytes operator()(std::uint64_t i) const {
    const At at(*this, i);
    bool right = at.found == initial_word<Word>;
    if (at.times > 0 && work.operation == AtomicOperation::exchange)
      right = static_cast<Word>(at.found - at.factor) < at.laps;
    if (at.times > 0 && work.operation != AtomicOperation::exchange)
      right = at.found ==
              static_cast<Word>(initial_word<Word> + static_cast<Word>(at.times * at.laps) * at.factor);
    return right ? no_bad : at.offset;
  }

  struct At {
    __device__ At(const WordCheck& check, std::uint64_t i) {
      const std::uint64_t slot = i / check.work.addresses;
      const std::uint64_t word = i % check.work.addresses;
      offset = slot * check.sweep.stride + word * sizeof(Word);
      times = times_through(check.sweep, slot, check.transfers);
      laps = check.work.laps(word);
      found = *reinterpret_cast<const Word*>(check.sweep.destination + offset);
      factor = operand<Word>(check.seed, offset / sizeof(Word));
    }

    Bytes offset;
    std::uint64_t times;
    std::uint64_t laps;
    Word found;
    Word factor;
  };
};

/// Gives what exchanges of a word must have given back: all that was there and written, less what it holds now.
template <class Word>
struct ExchangeBalance {
  WordCheck<Word> words;

  __device__ std::uint64_t operator()(std::uint64_t i) const {
    const typename WordCheck<Word>::At at(words, i);
    if (at.times == 0) return 0;
    return initial_word<Word> - at.found + at.times * (at.laps * at.factor + at.laps * (at.laps - 1) / 2);
  }
};

constexpr Parameter operation_parameter =
    word("operation", "add|exchange|cas", "what is done; cas: an addition by a loop of compare-and-swaps");
constexpr Parameter width_parameter = integer("width", "bytes of a word, a multiple of 4", 4, 8, 4);
constexpr Parameter addresses_parameter = integer(
    "addresses", "words that the operations are spread over, in turn; unless set, one for each operation", 1,
    std::int64_t{1} << 48U);
constexpr Parameter scope_parameter = optional_word(
    "scope", "device|system",
    "who must see an operation as one; unless set, device on the executor's own memory, else system");

using AtomicKernel = void (*)(Sweep, AtomicWork, std::uint64_t, std::uint64_t, Report*);

Scope scope_of(const Flow& flow) {
  return flow.parameters.given_choice<Scope>(scope_parameter)
      .value_or(is_local(flow) ? Scope::device : Scope::system);
}

/// The operation's kernels by scope and width.
template <AtomicOperation operation>
constexpr AtomicKernel kernels_of[2][2] = {
    {&atomic_kernel<operation, Scope::device, std::uint32_t>, &atomic_kernel<operation, Scope::device, Wide>},
    {&atomic_kernel<operation, Scope::system, std::uint32_t>,
     &atomic_kernel<operation, Scope::system, Wide>}};

AtomicKernel kernel_of(const AtomicWork& work, Scope scope) {
  const std::size_t row = scope == Scope::device ? 0 : 1;
  const std::size_t column = work.width == sizeof(Wide) ? 1 : 0;
  switch (work.operation) {
    case AtomicOperation::exchange:
      return kernels_of<AtomicOperation::exchange>[row][column];
    case AtomicOperation::compare_and_swap:
      return kernels_of<AtomicOperation::compare_and_swap>[row][column];
    default:
      return kernels_of<AtomicOperation::add>[row][column];
  }
}

constexpr GridNumber atomic_numbers[] = {
    {blocks_parameter, &Grid::blocks},
    {integer("threads", "threads per block, tuned unless set", 1, 1024), &Grid::threads}};

/// Threads that may want one word at the same time: of n that compare and swap, n - 1 fail and try again, so that the
/// work grows with the square.
constexpr std::uint64_t rivals_per_word = 32;

/// Limits `threads` to those that the operation bears on so few addresses.
std::uint64_t bearable(const AtomicWork& work, std::uint64_t threads) {
  const bool rivalry = work.operation == AtomicOperation::compare_and_swap;
  return rivalry ? std::min(threads, rivals_per_word * work.addresses) : threads;
}

/// Many threads hide the way to far words; few do better where they all want the same one.
std::vector<Grid> grids_for(const GpuProperties& device, const AtomicWork& work,
                            const Parameters& parameters) {
  const auto processors = static_cast<unsigned>(device.multiprocessors);
  const Grid wanted[] = {{.blocks = 2 * processors, .threads = 1024},
                         {.blocks = processors, .threads = 1024},
                         {.blocks = processors, .threads = 256},
                         {.blocks = std::max(processors / 4, 1U), .threads = 256}};
  if (const auto fixed = fixed_grid(atomic_numbers, wanted[0], parameters)) return {*fixed};
  std::vector<Grid> grids;
  for (Grid grid : wanted) {
    const std::uint64_t most =
        bearable(work, std::min<std::uint64_t>(work.count, Bytes{grid.blocks} * grid.threads));
    grid.threads = static_cast<unsigned>(std::min<std::uint64_t>(grid.threads, most));
    grid.blocks = static_cast<unsigned>((most + grid.threads - 1) / grid.threads);
    add_unlike(grids, grid);
  }
  return grids;
}

class AtomicCheck final : public SweepCheck {
 public:
  AtomicCheck(std::shared_ptr<const SweptMemory> memory, const AtomicWork& work)
      : SweepCheck(std::move(memory)),
        work_(work),
        words_(*this->memory().context, this->memory().device, sizeof(Report) / sizeof(std::uint64_t)) {}

  void arm(std::uint64_t seed) override {
    SweepCheck::arm(seed);
    words_.clear();
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override {
    return work_.width == sizeof(Wide) ? verify_words<Wide>(seed, transfers)
                                       : verify_words<std::uint32_t>(seed, transfers);
  }

  [[nodiscard]] Report* report() const { return reinterpret_cast<Report*>(words_.data()); }
  [[nodiscard]] Report read_report() const {
    const std::vector<std::uint64_t> words = words_.read();
    return {words[0], words[1]};
  }

 private:
  template <class Word>
  [[nodiscard]] std::optional<Mismatch> verify_words(std::uint64_t seed, std::uint64_t transfers) const {
    GpuContext& context = *memory().context;
    const WordCheck<Word> check{memory().all, work_, seed, transfers};
    const std::uint64_t words = work_.addresses * memory().all.slots;
    const Endpoint& end = memory().arenas.destination->where();
    const std::string where = end.device.text() + " " + end.memory;
    if (const auto bad = first_bad(context, memory().device, words, check)) {
      return Mismatch{"the word at byte " + std::to_string(*bad) + " of " + where +
                      " does not hold what its operations give"};
    }
    if (work_.operation != AtomicOperation::exchange) return std::nullopt;
    const Wide balance = sum_of(context, memory().device, words, ExchangeBalance<Word>{check});
    if (static_cast<Word>(read_report().returned) == static_cast<Word>(balance)) return std::nullopt;
    return Mismatch{"what exchanges gave back and what " + where + " holds are not what was written"};
  }

  AtomicWork work_;
  DeviceWords words_;  // a Report
};

std::string swaps_remark(std::uint64_t attempts, std::uint64_t swaps) {
  char text[80];
  std::snprintf(text, sizeof text, "%.2f compare-and-swaps tried for each that swapped",
                static_cast<double>(attempts) / static_cast<double>(swaps));
  return text;
}

/// CUDA's rule for scope `system`, by what the driver says of the link; HIP's driver answers the same questions.
Support is_atomic(const Flow& flow) {
  const Endpoint& where = *flow.destination;
  const int executor = flow.executor.index;
  int native = 0;
  if (where.traits.migrates || where.traits.system_pages || is_local(flow)) {
    return Support::yes();  // the driver keeps such memory coherent as a whole
  }
  const bool on_gpu = where.device.kind == DeviceKind::gpu;
  const gpuError_t status =
      on_gpu ? gpuDeviceGetP2PAttribute(&native, gpuP2PNativeAtomics, executor, where.device.index)
             : gpuDeviceGetAttribute(&native, gpuAttributeHostNativeAtomics, executor);
  if (status != gpuSuccess) static_cast<void>(gpuGetLastError());
  if (status == gpuSuccess && native != 0) return Support::yes();
  return Support::no("the link from " + flow.executor.text() + " to " + where.device.text() +
                     " has no native atomic operations, as the driver says; scope device is atomic among the "
                     "threads of one GPU");
}

Support takes_atomics(GpuContext& gpus, const Flow& flow) {
  const AtomicWork work = AtomicWork::of(flow);
  if (flow.bytes == 0 || flow.bytes % work.width != 0) {
    return Support::no(std::to_string(flow.bytes) + " B is not a whole number of operations of " +
                       std::to_string(work.width) + " B");
  }
  if (work.operation == AtomicOperation::compare_and_swap && flow.parameters.number(recorded_transfers) != 0)
    return Support::no("a graph repeats the first guesses of its compare-and-swaps, which are then wrong");
  if (const Support reached = kernels_reach(gpus, flow, Ends::destination); !reached) return reached;
  return scope_of(flow) == Scope::device ? Support::yes() : is_atomic(flow);
}

std::unique_ptr<Transfer> make_atomics(const std::shared_ptr<GpuContext>& gpus, const Flow& flow,
                                       const Arenas& arenas) {
  const AtomicWork operations = AtomicWork::of(flow);
  auto memory = std::make_shared<const SweptMemory>(gpus, flow, arenas, operations.span());
  auto check = std::make_unique<AtomicCheck>(memory, operations);
  auto grids = grids_for(gpus->device(memory->device), operations, flow.parameters);
  SweepWork work =
      sweep_work(std::move(memory), operations.count, GridChoice(atomic_numbers, std::move(grids)));
  const AtomicKernel kernel = kernel_of(operations, scope_of(flow));
  work.kernels = {reinterpret_cast<const void*>(kernel)};
  work.launch = [kernel, operations, report = check->report()](const SweepLaunch& at) {
    kernel<<<at.grid.blocks, at.grid.threads, 0, at.stream>>>(at.sweep, operations, at.seed,
                                                              at.transfers / at.sweep.slots, report);
  };
  if (operations.operation == AtomicOperation::compare_and_swap) {
    work.remark = [swaps = operations.count, &found = *check](std::vector<std::string>& all,
                                                              std::uint64_t transfers) {
      if (transfers > 0) all.push_back(swaps_remark(found.read_report().attempts, transfers * swaps));
    };
  }
  work.check = std::move(check);
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace

AtomicWork AtomicWork::of(const Flow& flow) {
  AtomicWork work;
  work.operation = flow.parameters.choice<AtomicOperation>(operation_parameter);
  work.width = static_cast<Bytes>(flow.parameters.number(width_parameter));
  if (work.width != 4 && work.width != 8) throw Error(Fault::bad_input, "parameter width: 4 or 8");
  work.count = std::max<std::uint64_t>(flow.bytes / work.width, 1);
  const auto addresses = flow.parameters.given_number(addresses_parameter);
  work.addresses = addresses ? std::min(static_cast<std::uint64_t>(*addresses), work.count) : work.count;
  return work;
}

Method kernel_atomic(const std::shared_ptr<GpuContext>& gpus) {
  Method row = stream_row(
      gpus,
      {"kernel-atomic",
       "atomic adds, exchanges or compare-and-swaps by a kernel; its bytes are operations times width",
       Quantity::bandwidth, kernel_traits},
      parameters_of(atomic_numbers,
                    {operation_parameter, width_parameter, addresses_parameter, scope_parameter}),
      &takes_atomics, &make_atomics);
  row.footprint = [](const Flow& flow) { return AtomicWork::of(flow).span(); };
  // Named addresses are the words that the flow is about.
  row.rotation_bytes = [rotates = row.rotation_bytes](const Flow& flow) {
    return flow.parameters.sets(addresses_parameter) ? 0 : rotates(flow);
  };
  return row;
}

}  // namespace linkscope::gpu
