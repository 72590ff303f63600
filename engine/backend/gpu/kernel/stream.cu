#include "backend/gpu/kernel/stream.hpp"

#include <algorithm>
#include <string>

#include "backend/gpu/kernel/kernel_transfer.hpp"
#include "backend/gpu/kernel/stream_arrays.hpp"
#include "backend/gpu/kernel/sweep_kernels.hpp"
#include "backend/gpu/memory/pattern_kernels.hpp"
#include "backend/gpu/vendor/check.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr unsigned service_threads = 512;

enum class Operation { copy, scale, add, triad };

constexpr unsigned arrays_read(Operation operation) {
  return operation == Operation::add || operation == Operation::triad ? 2 : 1;
}

Operation operation_of(const Parameters& parameters) {
  const std::string word = parameters.word("operation", "copy");
  if (word == "copy") return Operation::copy;
  if (word == "scale") return Operation::scale;
  if (word == "add") return Operation::add;
  if (word == "triad") return Operation::triad;
  throw Error(Fault::bad_input, "parameter operation: copy, scale, add or triad");
}

/// Places of the arrays that a thread works on at a time, so that `unroll` loads are in flight.
constexpr unsigned places_at_once(Operation operation, unsigned unroll) {
  return unroll > 1 ? unroll / arrays_read(operation) : 1;
}

/// Where b is behind a, both aligned to vectors.
constexpr Bytes second_array(Bytes bytes) { return (bytes + vector_bytes - 1) / vector_bytes * vector_bytes; }

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
struct StreamKernels {
  template <unsigned unroll, Access access>
  static auto get() {
    return &stream_kernel<operation, unroll, access>;
  }
};

__global__ void fill_array_kernel(double* address, std::uint64_t length, std::uint64_t seed) {
  for (std::uint64_t i = thread_index(); i < length / sizeof(double); i += thread_count()) {
    address[i] = stream_value(seed, i);
  }
}

/// Compares bits with what `operation` gives from the values that the arrays were filled with.
template <Operation operation>
__global__ void compare_results_kernel(Sweep sweep, Bytes second, std::uint64_t seed, Counter* first_bad) {
  for_each_repeat(sweep, [&](Bytes slot) {
    for (std::uint64_t i = thread_index(); i < sweep.bytes / sizeof(double); i += thread_count()) {
      const std::uint64_t index = slot / sizeof(double) + i;
      const double expected = result_of<operation>(stream_value(seed, index),
                                                   stream_value(seed, index + second / sizeof(double)));
      const double found = reinterpret_cast<const double*>(sweep.destination + slot)[i];
      if (as_word(found) != as_word(expected))
        atomicMin(first_bad, static_cast<Counter>(slot + i * sizeof(double)));
    }
  });
}

/// What one operation needs: picked once, so that the transfer itself is no template.
struct StreamLoop {
  using Measured = void (*)(Sweep, Bytes);

  Measured (*measured)(const LaunchShape&);
  void (*compare)(Sweep, Bytes, std::uint64_t, Counter*);
  std::vector<const void*> all;
};

template <Operation operation>
StreamLoop kernels_of() {
  StreamLoop kernels{[](const LaunchShape& shape) -> StreamLoop::Measured {
                       return kernel_for<StreamKernels<operation>>(shape);
                     },
                     &compare_results_kernel<operation>, all_kernels<StreamKernels<operation>>()};
  kernels.all.push_back(reinterpret_cast<const void*>(kernels.compare));
  kernels.all.push_back(reinterpret_cast<const void*>(&fill_array_kernel));
  return kernels;
}

StreamLoop kernels_of(Operation operation) {
  switch (operation) {
    case Operation::scale:
      return kernels_of<Operation::scale>();
    case Operation::add:
      return kernels_of<Operation::add>();
    case Operation::triad:
      return kernels_of<Operation::triad>();
    default:
      return kernels_of<Operation::copy>();
  }
}

class StreamTransfer final : public KernelTransfer {
 public:
  StreamTransfer(std::shared_ptr<GpuContext> context, const Flow& flow, const Arenas& arenas)
      : KernelTransfer(std::move(context), flow, arenas, work_of(flow)),
        second_(arrays_read(operation_of(flow.parameters)) == 2 ? second_array(flow.bytes) : 0),
        kernels_(kernels_of(operation_of(flow.parameters))) {
    own_facts().touched_bytes = (arrays_read(operation_of(flow.parameters)) + 1) * flow.bytes;
    if (arenas.source->bytes() < extent() + second_)
      throw Error(Fault::bad_input, "the source buffer has no room for the second array");
    this->context().load(device(), kernels_.all);
    const DeviceId& home = arenas.source->where().device;
    if (home.kind == DeviceKind::gpu)
      this->context().load(home.index, {reinterpret_cast<const void*>(&fill_array_kernel)});
  }

  void arm(std::uint64_t seed) override {
    fill_arrays(seed);
    arenas().destination->poison(0, extent());
    begin_round(seed);
  }

  void flush() override {
    arenas().source->flush(0, extent() + second_);
    arenas().destination->flush(0, extent());
  }

  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    const gpuStream_t stream = context().service_stream(device());
    std::uint64_t* const first_bad = context().scratch_word(device());
    LINKSCOPE_CHECK(gpuMemsetAsync(first_bad, 0xFF, sizeof *first_bad, stream));
    Sweep sweep = arena();
    sweep.repeats = touched_slots();
    kernels_.compare<<<service_blocks(device()), service_threads, 0, stream>>>(
        sweep, second_, seed, reinterpret_cast<Counter*>(first_bad));
    LINKSCOPE_CHECK(gpuGetLastError());
    const std::uint64_t bad = read_word(context(), device(), first_bad);
    if (bad >= extent()) return std::nullopt;
    const Endpoint& where = arenas().destination->where();
    return Mismatch{"the double at byte " + std::to_string(bad) + " of " + std::to_string(extent()) + " in " +
                    where.device.text() + " " + where.memory + " is not what the arrays give"};
  }

 protected:
  void launch(gpuStream_t stream, const Sweep& sweep, const LaunchShape& shape) override {
    kernels_.measured(shape)<<<grid_of(sweep, shape), shape.threads, 0, stream>>>(sweep, second_);
    LINKSCOPE_CHECK(gpuGetLastError());
  }

 private:
  /// A thread for each load.
  static ThreadDemand work_of(const Flow& flow) {
    const std::uint64_t loads = flow.bytes / vector_bytes * arrays_read(operation_of(flow.parameters));
    return {flow.bytes, std::max<std::uint64_t>(loads, 1)};
  }

  [[nodiscard]] unsigned service_blocks(int device) const {
    return static_cast<unsigned>(4 * context().device(device).multiprocessors);
  }

  /// By the device that holds the arrays, as every other fill: no page moves that the measured work did not move.
  void fill_arrays(std::uint64_t seed) const {
    const Buffer& source = *arenas().source;
    const DeviceId& home = source.where().device;
    if (home.kind != DeviceKind::gpu) {
      fill_on_host(context(), source, extent() + second_, seed);
      return;
    }
    const gpuStream_t stream = context().service_stream(home.index);
    fill_array_kernel<<<service_blocks(home.index), service_threads, 0, stream>>>(
        reinterpret_cast<double*>(source.data()), extent() + second_, seed);
    LINKSCOPE_CHECK(gpuGetLastError());
    LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  }

  Bytes second_;
  StreamLoop kernels_;
};

}  // namespace

std::map<std::string, std::string> Stream::own_parameters() const {
  auto all = shape_parameters();
  all["operation"] = "copy (c = a), scale (c = 3 a), add (c = a + b) or triad (c = a + 3 b); default: copy";
  return all;
}

Support Stream::supports(const Flow& flow) const {
  static_cast<void>(operation_of(flow.parameters));
  if (flow.bytes % sizeof(double) != 0) {
    return Support::no("stream works on doubles: " + std::to_string(flow.bytes) +
                       " B is not a whole number of them");
  }
  return kernels_reach(flow, Ends::both);
}

Bytes Stream::footprint(const Flow& flow) const {
  return arrays_read(operation_of(flow.parameters)) == 2 ? second_array(flow.bytes) + flow.bytes : flow.bytes;
}

std::unique_ptr<Transfer> Stream::make(const Flow& flow, const Arenas& arenas) const {
  return std::make_unique<StreamTransfer>(shared_context(), flow, arenas);
}

}  // namespace linkscope::gpu
