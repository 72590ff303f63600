#include "backend/gpu/kernel/atomic.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/kernel/atomic_work.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/kernel/sweep_transfer.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"
#include "model/pattern.hpp"

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

/// What the kernels report.
struct Report {
  Wide returned;   ///< sum of all that exchanges gave back
  Wide attempts;   ///< compare-and-swaps tried
  Wide balance;    ///< what exchanges must have given back, by what the memory holds
  Wide first_bad;  ///< offset in the arena, or all ones
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

/// Checks every word of the first `slots` slots after `touched` transfers from slot 0 on.
template <class Word>
__global__ void check_kernel(Sweep sweep, AtomicWork work, std::uint64_t seed, std::uint64_t touched,
                             Report* report) {
  Wide balance = 0;
  for (std::uint64_t i = thread_index(); i < work.addresses * sweep.slots; i += thread_count()) {
    const std::uint64_t slot = i / work.addresses;
    const std::uint64_t word = i % work.addresses;
    const std::uint64_t times = touched / sweep.slots + (slot < touched % sweep.slots ? 1 : 0);
    const Bytes offset = slot * sweep.stride + word * sizeof(Word);
    const Word found = *reinterpret_cast<const Word*>(sweep.destination + offset);
    const Word factor = operand<Word>(seed, offset / sizeof(Word));
    const std::uint64_t laps = work.laps(word);
    bool right = true;
    if (times == 0) {
      right = found == initial_word<Word>;
    } else if (work.operation == AtomicOperation::exchange) {
      right = static_cast<Word>(found - factor) < laps;
      balance += initial_word<Word> - found + times * (laps * factor + laps * (laps - 1) / 2);
    } else {
      right = found == static_cast<Word>(initial_word<Word> + static_cast<Word>(times * laps) * factor);
    }
    if (!right) atomicMin(&report->first_bad, static_cast<Wide>(offset));
  }
  add_block(balance, &report->balance);
}

using AtomicKernel = void (*)(Sweep, AtomicWork, std::uint64_t, std::uint64_t, Report*);

template <AtomicOperation operation, Scope scope>
AtomicKernel kernel_of(Bytes width) {
  if (width == sizeof(Wide)) return &atomic_kernel<operation, scope, Wide>;
  return &atomic_kernel<operation, scope, std::uint32_t>;
}

template <Scope scope>
AtomicKernel kernel_of(const AtomicWork& work) {
  switch (work.operation) {
    case AtomicOperation::exchange:
      return kernel_of<AtomicOperation::exchange, scope>(work.width);
    case AtomicOperation::compare_and_swap:
      return kernel_of<AtomicOperation::compare_and_swap, scope>(work.width);
    default:
      return kernel_of<AtomicOperation::add, scope>(work.width);
  }
}

Scope scope_of(const Flow& flow) {
  const std::string word = flow.parameters.word("scope", is_local(flow) ? "device" : "system");
  if (word == "device") return Scope::device;
  if (word == "system") return Scope::system;
  throw Error(Fault::bad_input, "parameter scope: device or system");
}

AtomicKernel kernel_of(const AtomicWork& work, Scope scope) {
  return scope == Scope::system ? kernel_of<Scope::system>(work) : kernel_of<Scope::device>(work);
}

auto check_kernel_of(const AtomicWork& work) {
  return work.width == sizeof(Wide) ? &check_kernel<Wide> : &check_kernel<std::uint32_t>;
}

struct AtomicGrid {
  unsigned blocks = 1;
  unsigned threads = 1;

  bool operator==(const AtomicGrid&) const = default;
  [[nodiscard]] Setting setting() const { return {{"blocks", blocks}, {"threads", threads}}; }
};

/// Threads that may want one word at the same time: of n that compare and swap, n - 1 fail and try again, so that the
/// work grows with the square.
constexpr std::uint64_t rivals_per_word = 32;

/// As many of `threads` as the operation bears on so few addresses.
std::uint64_t bearable(const AtomicWork& work, std::uint64_t threads) {
  const bool rivalry = work.operation == AtomicOperation::compare_and_swap;
  return rivalry ? std::min(threads, rivals_per_word * work.addresses) : threads;
}

/// Many threads hide the way to far words; few do better where they all want the same one.
std::vector<AtomicGrid> grids_for(const GpuProperties& device, const AtomicWork& work,
                                  const Parameters& parameters) {
  constexpr std::int64_t most_blocks = 1U << 20U;
  const auto processors = static_cast<unsigned>(device.multiprocessors);
  const std::vector<AtomicGrid> wanted = {
      {2 * processors, 1024}, {processors, 1024}, {processors, 256}, {std::max(processors / 4, 1U), 256}};
  if (parameters.all().contains("blocks") || parameters.all().contains("threads")) {
    const std::int64_t blocks = parameters.number("blocks", wanted.front().blocks);
    const std::int64_t threads = parameters.number("threads", wanted.front().threads);
    if (blocks < 1 || blocks > most_blocks) throw Error(Fault::bad_input, "parameter blocks: 1 to 1048576");
    if (threads < 1 || threads > 1024) throw Error(Fault::bad_input, "parameter threads: 1 to 1024");
    return {{static_cast<unsigned>(blocks), static_cast<unsigned>(threads)}};
  }
  std::vector<AtomicGrid> grids;
  for (AtomicGrid grid : wanted) {
    const std::uint64_t most =
        bearable(work, std::min<std::uint64_t>(work.count, Bytes{grid.blocks} * grid.threads));
    grid.threads = static_cast<unsigned>(std::min<std::uint64_t>(grid.threads, most));
    grid.blocks = static_cast<unsigned>((most + grid.threads - 1) / grid.threads);
    if (std::find(grids.begin(), grids.end(), grid) == grids.end()) grids.push_back(grid);
  }
  return grids;
}

class AtomicTransfer final : public SweepTransfer {
 public:
  AtomicTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : SweepTransfer(std::move(context), flow, arenas, AtomicWork::of(flow).span()),
        work_(AtomicWork::of(flow)),
        kernel_(kernel_of(work_, scope_of(flow))),
        grids_(grids_for(this->context().device(device()), work_, flow.parameters)),
        grid_(grids_.front()),
        words_(this->context(), device(), sizeof(Report) / sizeof(std::uint64_t)) {
    own_facts().offer(grids_);
    this->context().load(device(), {reinterpret_cast<const void*>(kernel_),
                                    reinterpret_cast<const void*>(check_kernel_of(work_))});
  }

  void arm(std::uint64_t seed) override {
    SweepTransfer::arm(seed);
    words_.clear();
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    constexpr unsigned threads = 512;
    const auto blocks = static_cast<unsigned>(4 * context().device(device()).multiprocessors);
    const gpuStream_t stream = context().service_stream(device());
    LINKSCOPE_CHECK(gpuMemsetAsync(&report()->balance, 0, sizeof(Wide), stream));
    LINKSCOPE_CHECK(gpuMemsetAsync(&report()->first_bad, 0xFF, sizeof(Wide), stream));
    check_kernel_of(work_)<<<blocks, threads, 0, stream>>>(arena(), work_, seed, touched(), report());
    LINKSCOPE_CHECK(gpuGetLastError());
    const Report found = read_report();
    const std::string where =
        arenas().destination->where().device.text() + " " + arenas().destination->where().memory;
    if (found.first_bad < extent()) {
      return Mismatch{"the word at byte " + std::to_string(found.first_bad) + " of " + where +
                      " does not hold what its operations give"};
    }
    const Wide bits = work_.width == sizeof(Wide) ? ~0ULL : 0xFFFFFFFFULL;
    if (work_.operation == AtomicOperation::exchange && ((found.returned ^ found.balance) & bits) != 0)
      return Mismatch{"what exchanges gave back and what " + where + " holds are not what was written"};
    return std::nullopt;
  }

  void use(const Setting& setting) override {
    const auto chosen = std::find_if(grids_.begin(), grids_.end(),
                                     [&](const AtomicGrid& grid) { return grid.setting() == setting; });
    if (chosen == grids_.end()) throw Error(Fault::bad_input, "kernel-atomic offers no such launch shape");
    grid_ = *chosen;
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> all = SweepTransfer::notes();
    const std::uint64_t swaps = touched() * work_.count;
    if (work_.operation != AtomicOperation::compare_and_swap || swaps == 0) return all;
    const auto hundredths = static_cast<std::uint64_t>(
        100.0 * static_cast<double>(read_report().attempts) / static_cast<double>(swaps) + 0.5);
    const std::string digits = std::to_string(hundredths % 100);
    all.push_back(std::to_string(hundredths / 100) + (digits.size() == 1 ? ".0" : ".") + digits +
                  " compare-and-swaps tried for each that swapped");
    return all;
  }

 protected:
  void run(gpuStream_t stream, const Sweep& sweep) override {
    kernel_<<<grid_.blocks, grid_.threads, 0, stream>>>(sweep, work_, seed(), touched() / sweep.slots,
                                                        report());
    LINKSCOPE_CHECK(gpuGetLastError());
  }

 private:
  [[nodiscard]] Report* report() const { return reinterpret_cast<Report*>(words_.data()); }
  [[nodiscard]] Report read_report() const {
    const std::vector<std::uint64_t> words = words_.read();
    return {words[0], words[1], words[2], words[3]};
  }

  AtomicWork work_;
  AtomicKernel kernel_;
  std::vector<AtomicGrid> grids_;
  AtomicGrid grid_;
  DeviceWords words_;  // a Report
};

}  // namespace

std::map<std::string, std::string> KernelAtomic::own_parameters() const {
  return {
      {"operation", "add, exchange or cas (an addition by a loop of compare-and-swaps); default: add"},
      {"width", "bytes of a word: 4 or 8; default: 4"},
      {"addresses", "words that the operations are spread over, in turn; default: one for each operation"},
      {"scope", "device or system; default: device on the executor's own memory, else system"},
      {"blocks", "blocks of the grid; default: tuned"},
      {"threads", "threads per block; default: tuned"}};
}

Support KernelAtomic::supports(const Flow& flow) const {
  const AtomicWork work = AtomicWork::of(flow);
  if (flow.bytes == 0 || flow.bytes % work.width != 0) {
    return Support::no(std::to_string(flow.bytes) + " B is not a whole number of operations of " +
                       std::to_string(work.width) + " B");
  }
  if (work.operation == AtomicOperation::compare_and_swap && flow.parameters.number("graph", 0) != 0)
    return Support::no("a graph repeats the first guesses of its compare-and-swaps, which are then wrong");
  if (const Support reached = kernels_reach(flow, Ends::destination); !reached) return reached;
  return scope_of(flow) == Scope::device ? Support::yes() : is_atomic(flow);
}

/// CUDA's rule for scope `system`, by what the driver says of the link; HIP's driver answers the same questions.
Support KernelAtomic::is_atomic(const Flow& flow) const {
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

Bytes KernelAtomic::footprint(const Flow& flow) const { return AtomicWork::of(flow).span(); }

Bytes KernelAtomic::rotation_bytes(const Flow& flow) const {
  return flow.parameters.all().contains("addresses") ? 0 : GpuMethod::rotation_bytes(flow);
}

std::unique_ptr<Transfer> KernelAtomic::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<AtomicTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
