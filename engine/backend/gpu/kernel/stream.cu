// stream: McCalpin's four loops over arrays of doubles, each array wherever the flow puts it.
#include <algorithm>
#include <string>

#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/methods.hpp"

namespace linkscope::gpu {
namespace {

/// Scale and triad multiply by it.
constexpr double stream_scalar = 3;

enum class Operation { copy, scale, add, triad };

constexpr unsigned arrays_read(Operation operation) {
  return operation == Operation::add || operation == Operation::triad ? 2 : 1;
}

constexpr Parameter operation_parameter = word(
    "operation", "copy|scale|add|triad", "copy: c = a; scale: c = 3 a; add: c = a + b; triad: c = a + 3 b");

Operation operation_of(const Flow& flow) { return flow.parameters.choice<Operation>(operation_parameter); }

/// Places of the arrays that a thread works on at a time, so that `unroll` loads are in flight.
constexpr unsigned places_at_once(Operation operation, unsigned unroll) {
  return unroll > 1 ? unroll / arrays_read(operation) : 1;
}

/// Array b begins so far behind array a; both are aligned to vectors.
constexpr Bytes second_array(Bytes bytes) { return round_up(bytes, vector_bytes); }

template <Operation operation>
__device__ double result_of(double a, double b) {
  if constexpr (operation == Operation::copy) return a;
  if constexpr (operation == Operation::scale) return stream_scalar * a;
  if constexpr (operation == Operation::add) return a + b;
  return a + stream_scalar * b;
}

__device__ double as_double(std::uint64_t word) { return __longlong_as_double(static_cast<long long>(word)); }
__device__ std::uint64_t as_word(double value) {
  return static_cast<std::uint64_t>(__double_as_longlong(value));
}

/// The last of `loaded` is b where there is one, else a, which is not used then.
template <Operation operation>
__device__ Vector results_of(const Vector (&loaded)[arrays_read(operation)]) {
  const Vector& a = loaded[0];
  const Vector& b = loaded[arrays_read(operation) - 1];
  return vector_of(as_word(result_of<operation>(as_double(low_word(a)), as_double(low_word(b)))),
                   as_word(result_of<operation>(as_double(high_word(a)), as_double(high_word(b)))));
}

template <Operation operation, unsigned unroll, Access access>
__global__ void __launch_bounds__(most_threads(unroll)) stream_kernel(Sweep sweep, Bytes second) {
  for_each_repeat(sweep, [&](Bytes slot) {
    const std::byte* const a = sweep.source + slot;
    const std::byte* const b = arrays_read(operation) == 2 ? a + second : a;
    const Vector* sources[arrays_read(operation)] = {reinterpret_cast<const Vector*>(a)};
    if constexpr (arrays_read(operation) == 2) sources[1] = reinterpret_cast<const Vector*>(b);
    combine_vectors<places_at_once(operation, unroll), access>(
        sweep.order, reinterpret_cast<Vector*>(sweep.destination + slot), sources, sweep.vectors,
        [](const Vector(&loaded)[arrays_read(operation)]) { return results_of<operation>(loaded); });
    for (std::uint64_t i = sweep.vectors * 2 + thread_index(); i < sweep.bytes / sizeof(double);
         i += thread_count()) {
      reinterpret_cast<double*>(sweep.destination + slot)[i] =
          result_of<operation>(reinterpret_cast<const double*>(a)[i], reinterpret_cast<const double*>(b)[i]);
    }
  });
}

template <Operation operation>
constexpr auto stream_kernels =
    [](auto unroll, auto access) { return &stream_kernel<operation, unroll, access>; };

/// The double at `index` of a buffer filled in round `seed`: a whole number below 2^21, so that sums and small
/// multiples are exact.
constexpr double stream_value(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(pattern_word(seed, index) >> 43U);
}

struct FillArrays {
  double* address;
  std::uint64_t seed;

  __device__ void operator()(std::uint64_t i) const { address[i] = stream_value(seed, i); }
};

/// Compares bits with what `operation` gives from the values that the arrays were filled with.
template <Operation operation>
struct CompareResults {
  Sweep sweep;
  Bytes second;
  std::uint64_t seed;

  __device__ Bytes operator()(std::uint64_t i) const {
    const std::uint64_t doubles = sweep.bytes / sizeof(double);
    const Bytes offset = i / doubles * sweep.stride + i % doubles * sizeof(double);
    const std::uint64_t index = offset / sizeof(double);
    const double expected =
        result_of<operation>(stream_value(seed, index), stream_value(seed, index + second / sizeof(double)));
    const double found = *reinterpret_cast<const double*>(sweep.destination + offset);
    return as_word(found) == as_word(expected) ? no_bad : offset;
  }
};

template <Operation operation>
class StreamCheck final : public SweepCheck {
 public:
  StreamCheck(std::shared_ptr<const SweptMemory> memory, Bytes second)
      : SweepCheck(std::move(memory)), second_(second) {
    if (this->memory().arenas.source->bytes() < arrays_bytes())
      throw Error(Fault::bad_input, "the source buffer has no room for the second array");
  }

  void arm(std::uint64_t seed) override {
    fill_arrays(seed);
    memory().arenas.destination->poison(0, memory().extent());
  }
  void flush() override {
    memory().arenas.source->flush(0, arrays_bytes());
    memory().arenas.destination->flush(0, memory().extent());
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed, std::uint64_t transfers) const override {
    const Sweep& sweep = memory().all;
    const auto bad = first_bad(*memory().context, memory().device,
                               memory().reached(transfers) * (sweep.bytes / sizeof(double)),
                               CompareResults<operation>{sweep, second_, seed});
    if (!bad) return std::nullopt;
    const Endpoint& where = memory().arenas.destination->where();
    return Mismatch{"the double at byte " + std::to_string(*bad) + " of " +
                    std::to_string(memory().extent()) + " in " + where.device.text() + " " + where.memory +
                    " is not what the arrays give"};
  }

 private:
  [[nodiscard]] Bytes arrays_bytes() const { return memory().extent() + second_; }

  /// The device that holds the arrays fills them, so that no page moves that the measured work did not move.
  void fill_arrays(std::uint64_t seed) const {
    const Buffer& source = *memory().arenas.source;
    const DeviceId& home = source.where().device;
    auto* const values = reinterpret_cast<double*>(source.data());
    if (home.kind == DeviceKind::gpu) {
      visit_all(*memory().context, home.index, arrays_bytes() / sizeof(double), FillArrays{values, seed});
      return;
    }
    memory().context->share_on_node(home.index, arrays_bytes(), [values, seed](Bytes offset, Bytes bytes) {
      const std::uint64_t end = (offset + bytes) / sizeof(double);
      for (std::uint64_t i = offset / sizeof(double); i < end; ++i) values[i] = stream_value(seed, i);
    });
  }

  Bytes second_;
};

template <Operation operation>
void set_operation(SweepWork& work, Bytes second) {
  work.check = std::make_unique<StreamCheck<operation>>(work.memory, second);
  work.kernels = all_kernels(stream_kernels<operation>);
  work.launch = [second](const SweepLaunch& at) {
    kernel_for(stream_kernels<operation>, at.grid)<<<at.blocks(), at.grid.threads, 0, at.stream>>>(at.sweep,
                                                                                                   second);
  };
}

void set_operation(SweepWork& work, Operation operation, Bytes second) {
  switch (operation) {
    case Operation::copy:
      return set_operation<Operation::copy>(work, second);
    case Operation::scale:
      return set_operation<Operation::scale>(work, second);
    case Operation::add:
      return set_operation<Operation::add>(work, second);
    case Operation::triad:
      return set_operation<Operation::triad>(work, second);
  }
}

/// Where two arrays are read, the source holds b behind a.
Bytes stream_footprint(const Flow& flow) {
  return arrays_read(operation_of(flow)) == 2 ? second_array(flow.bytes) + flow.bytes : flow.bytes;
}

Support takes_stream(GpuContext& gpus, const Flow& flow) {
  if (flow.bytes % sizeof(double) != 0) {
    return Support::no("stream works on doubles: " + std::to_string(flow.bytes) +
                       " B is not a whole number of them");
  }
  return kernels_reach(gpus, flow, Ends::both);
}

std::unique_ptr<Transfer> make_stream(const std::shared_ptr<GpuContext>& gpus, const Flow& flow,
                                      const Arenas& arenas) {
  const Operation operation = operation_of(flow);
  auto memory = std::make_shared<const SweptMemory>(gpus, flow, arenas, flow.bytes);
  // A thread for each load.
  SweepWork work = sweep_work(std::move(memory), flow, flow.bytes / vector_bytes * arrays_read(operation));
  set_operation(work, operation, arrays_read(operation) == 2 ? second_array(flow.bytes) : 0);
  work.touched_bytes = (arrays_read(operation) + 1) * flow.bytes;
  return std::make_unique<SweepTransfer>(std::move(work));
}

}  // namespace

Method stream(const std::shared_ptr<GpuContext>& gpus) {
  Method row = stream_row(
      gpus,
      {"stream",
       "STREAM's copy, scale, add and triad by a kernel; its bytes are those of one array of doubles",
       Quantity::bandwidth, kernel_traits},
      parameters_of(sweep_numbers, {operation_parameter}), &takes_stream, &make_stream);
  row.footprint = &stream_footprint;
  return row;
}

}  // namespace linkscope::gpu
