// BlasLibrary: the vendor's library of matrix products, loaded when a product is first asked for; and the part of its C
// interface that is used (cuBLAS's manual, "Using the cuBLAS API").
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "backend/gpu/vendor.hpp"

namespace linkscope::gpu {

/// PyPI's packages of it, as PyTorch brings them along.
inline constexpr std::array<const char*, 2> blas_packages{"nvidia/cu13/lib", "nvidia/cublas/lib"};

/// A handle as the library knows it.
struct Blas;

// Values of the library's enumerations.
inline constexpr int blas_success = 0;
inline constexpr int blas_plain = 0;            ///< a matrix as it stands, not transposed
inline constexpr int blas_bfloat16 = 14;        ///< CUDA_R_16BF
inline constexpr int blas_float32_sums = 68;    ///< CUBLAS_COMPUTE_32F
inline constexpr int blas_its_choice = -1;      ///< CUBLAS_GEMM_DEFAULT
inline constexpr int blas_full_precision = 16;  ///< CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION

/// The functions, by their names without the prefix.
struct BlasApi {
  int (*create)(Blas** handle);
  int (*destroy)(Blas* handle);
  int (*get_version)(Blas* handle, int* version);
  int (*set_stream)(Blas* handle, gpuStream_t stream);
  int (*set_workspace)(Blas* handle, void* memory, std::size_t bytes);
  int (*set_math_mode)(Blas* handle, int mode);
  int (*set_sm_count_target)(Blas* handle, int multiprocessors);
  int (*gemm)(Blas* handle, int form_a, int form_b, int m, int n, int k, const void* alpha, const void* a,
              int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c, int type_c,
              int ldc, int compute, int algorithm);
};

/// Stays loaded until the process ends. Its files are some hundreds of MB, so nothing loads it but a product.
class BlasLibrary {
 public:
  /// `folders`: looked in where the loader knows of none.
  explicit BlasLibrary(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// Loads it; one line why that cannot be, empty where all is well.
  const std::string& problem();
  /// Only where problem() is empty.
  [[nodiscard]] const BlasApi& api() const { return api_; }
  /// Throws Error{broken} that names the call, unless `status` is success.
  static void check(int status, const char* call);

 private:
  bool load(const std::string& file);

  std::vector<std::string> folders_;
  BlasApi api_{};
  std::string problem_;
  bool sought_ = false;
};

}  // namespace linkscope::gpu
