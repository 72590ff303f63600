// matrix-product: C = A B by the vendor's library: what computes beside communication.
#include <algorithm>
#include <string>
#include <utility>

#include "backend/gpu/call/call_transfer.hpp"
#include "backend/gpu/gpu_method.hpp"
#include "backend/gpu/memory/device_words.hpp"
#include "backend/gpu/memory/service_kernels.hpp"
#include "backend/gpu/methods.hpp"
#include "backend/gpu/product/blas_library.hpp"
#include "backend/gpu/transfer.hpp"
#include "base/error.hpp"

namespace linkscope::gpu {
namespace {

constexpr std::int64_t longest_side = 32768;  // sums of so many products are exact in float32
constexpr Parameter n_parameter = integer("n", "columns of B and C", 16, longest_side, 4096);
constexpr Parameter m_parameter = integer("m", "rows of A and C; n unless set", 16, longest_side);
constexpr Parameter k_parameter = integer("k", "columns of A and rows of B; n unless set", 16, longest_side);
constexpr Parameter sms_parameter =
    integer("sms", "multiprocessors that the library lays its kernel out for; 0: all", 0, 1024, 0);

constexpr Bytes workspace_bytes = 32 * MiB;  // what cuBLAS's manual recommends for sm_90
constexpr std::uint64_t most_launches = 4;   // of one product, to be safe
constexpr std::uint64_t most_checked = 1 << 16;
constexpr Bytes element_bytes = 2;

/// C has m rows and n columns; all matrices lie column by column.
struct ProductShape {
  std::uint64_t m;
  std::uint64_t n;
  std::uint64_t k;

  static ProductShape of(const Flow& flow) {
    const std::int64_t n = flow.parameters.number(n_parameter);
    const auto side = [&](const Parameter& parameter) {
      return static_cast<std::uint64_t>(flow.parameters.given_number(parameter).value_or(n));
    };
    return {side(m_parameter), side(n_parameter), side(k_parameter)};
  }
  [[nodiscard]] std::uint64_t factors() const { return m * k + k * n; }
  [[nodiscard]] std::uint64_t products() const { return m * n; }
};

/// An element of A, behind which B lies: a whole number from -1 to 2, so that every sum is exact.
__device__ float factor(std::uint64_t seed, std::uint64_t index) {
  return static_cast<float>(static_cast<int>(pattern_word(seed, index) >> 62U) - 1);
}

/// The bfloat16 nearest to `value`, to even where two are.
__device__ std::uint16_t bfloat16_of(float value) {
  const unsigned bits = __float_as_uint(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

struct FillFactors {
  std::uint16_t* address;
  std::uint64_t seed;

  __device__ void operator()(std::uint64_t i) const { address[i] = bfloat16_of(factor(seed, i)); }
};

/// Works one element of each stretch of C out again, by the pattern alone.
struct CompareProduct {
  const std::uint16_t* product;
  ProductShape shape;
  std::uint64_t stretch;
  std::uint64_t seed;

  __device__ Bytes operator()(std::uint64_t i) const {
    const std::uint64_t at = i * stretch + pattern_word(seed, i) % stretch;
    const std::uint64_t row = at % shape.m;
    const std::uint64_t column = shape.m * shape.k + at / shape.m * shape.k;
    float sum = 0;
    for (std::uint64_t l = 0; l < shape.k; ++l)
      sum += factor(seed, l * shape.m + row) * factor(seed, column + l);
    return product[at] == bfloat16_of(sum) ? no_bad : at * element_bytes;
  }
};

/// 64-bit words for so many elements.
std::uint64_t words(std::uint64_t elements) { return elements * element_bytes / word_bytes + 1; }

/// It allocates its memory itself, and checks a sample of C.
class ProductTransfer final : public GpuTransfer {
 public:
  ProductTransfer(std::shared_ptr<GpuContext> context, std::shared_ptr<BlasLibrary> library, const Flow& flow)
      : context_(std::move(context)),
        library_(std::move(library)),
        device_(flow.executor.index),
        shape_(ProductShape::of(flow)),
        checked_(std::min(shape_.products(), most_checked)),
        factors_(*context_, device_, words(shape_.factors())),
        product_(*context_, device_, words(shape_.products())),
        workspace_(*context_, device_, workspace_bytes / word_bytes) {
    own_facts().max_repeats = queue_share / most_launches;
    const BlasApi& api = library_->api();
    BlasLibrary::check(api.create(&handle_), "cublasCreate");
    try {
      const auto sms = static_cast<int>(flow.parameters.number(sms_parameter));
      BlasLibrary::check(api.set_math_mode(handle_, blas_full_precision), "cublasSetMathMode");
      BlasLibrary::check(api.set_sm_count_target(handle_, sms), "cublasSetSmCountTarget");
      BlasLibrary::check(api.get_version(handle_, &version_), "cublasGetVersion");
      // The first call chooses a kernel and loads it: that must not happen behind a closed gate.
      const gpuStream_t stream = context_->service_stream(device_);
      refusal_is_no_support("cuBLAS takes no such product on this GPU", [&] { enqueue(stream, 1); });
      set_transfers(0);
      LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
    } catch (...) {
      api.destroy(handle_);
      throw;
    }
  }
  ~ProductTransfer() override {
    static_cast<void>(gpuSetDevice(device_));
    library_->api().destroy(handle_);
  }
  ProductTransfer(const ProductTransfer&) = delete;
  ProductTransfer& operator=(const ProductTransfer&) = delete;

  [[nodiscard]] int device() const override { return device_; }

  void enqueue(gpuStream_t stream, std::uint64_t repeats) override {
    const BlasApi& api = library_->api();
    BlasLibrary::check(api.set_stream(handle_, stream), "cublasSetStream");
    // Another stream takes the workspace away, and the library would allocate.
    BlasLibrary::check(api.set_workspace(handle_, workspace_.data(), workspace_bytes), "cublasSetWorkspace");
    const float one = 1;
    const float zero = 0;
    const auto m = static_cast<int>(shape_.m);
    const auto k = static_cast<int>(shape_.k);
    const std::uint16_t* const b = elements(factors_) + shape_.m * shape_.k;
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat, count(1)) {
      BlasLibrary::check(api.gemm(handle_, blas_plain, blas_plain, m, static_cast<int>(shape_.n), k, &one,
                                  elements(factors_), blas_bfloat16, m, b, blas_bfloat16, k, &zero,
                                  elements(product_), blas_bfloat16, m, blas_float32_sums, blas_its_choice),
                         "cublasGemmEx");
    }
  }

  void arm(std::uint64_t seed) override {
    GpuTransfer::arm(seed);
    context_->use(device_);
    visit_all(*context_, device_, shape_.factors(), FillFactors{elements(factors_), seed});
    const ServiceTurn turn = context_->service_turn(device_);
    const Bytes bytes = shape_.products() * element_bytes;
    LINKSCOPE_CHECK(gpuMemsetAsync(product_.data(), poison_byte, bytes, turn.stream()));
    turn.wait();
  }
  [[nodiscard]] std::optional<Mismatch> verify(std::uint64_t seed) const override {
    if (transfers() == 0) return std::nullopt;
    context_->use(device_);
    const CompareProduct compare{elements(product_), shape_, shape_.products() / checked_, seed};
    const auto bad = first_bad(*context_, device_, checked_, compare);
    if (!bad) return std::nullopt;
    return Mismatch{"element " + std::to_string(*bad / element_bytes) + " of the product is wrong"};
  }
  [[nodiscard]] Bytes verified_bytes() const override {
    return transfers() == 0 ? 0 : checked_ * element_bytes;
  }
  [[nodiscard]] std::vector<std::string> notes() const override {
    return {"cuBLAS " + std::to_string(version_) + ", bfloat16 with sums in float32; checked on a sample"};
  }

 private:
  static std::uint16_t* elements(const DeviceWords& words) {
    return reinterpret_cast<std::uint16_t*>(words.data());
  }

  std::shared_ptr<GpuContext> context_;
  std::shared_ptr<BlasLibrary> library_;
  int device_;
  ProductShape shape_;
  std::uint64_t checked_;
  DeviceWords factors_;  ///< A, and B behind it
  DeviceWords product_;
  DeviceWords workspace_;
  Blas* handle_ = nullptr;
  int version_ = 0;
};

}  // namespace

Method matrix_product(const std::shared_ptr<GpuContext>& context, std::vector<std::string> folders) {
  const auto library = std::make_shared<BlasLibrary>(std::move(folders));
  Method row = stream_row(
      context,
      {"matrix-product", "multiplies matrices by cuBLAS: what computes beside communication",
       Quantity::latency},
      {n_parameter, m_parameter, k_parameter, sms_parameter},
      [library](const GpuContext& gpus, const Flow& flow) {
        if (const Support call = is_call(gpus, flow); !call) return call;
        const std::string& problem = library->problem();
        return problem.empty() ? Support::yes() : Support::no(problem);
      },
      [library](const std::shared_ptr<GpuContext>& gpus, const Flow& flow, const Arenas& /*arenas*/) {
        return std::make_unique<ProductTransfer>(gpus, library, flow);
      });
  row.footprint = row.rotation_bytes = [](const Flow& /*flow*/) { return Bytes{0}; };
  return row;
}

}  // namespace linkscope::gpu
