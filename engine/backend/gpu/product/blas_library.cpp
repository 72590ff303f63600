#include "backend/gpu/product/blas_library.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/shared_library.hpp"

namespace linkscope::gpu {

const std::string& BlasLibrary::problem() {
  if (sought_) return problem_;
  sought_ = true;
  std::error_code none;
  for (const std::string file : vendor::blas_libraries) {
    if (file.empty()) return problem_ = "matrix products are cuBLAS's: AMD's libraries are not called";
    if (load(file)) return problem_;
    for (const std::string& folder : folders_) {
      const std::string path = folder + "/" + file;
      if (std::filesystem::exists(path, none) && load(path)) return problem_;
    }
  }
  return problem_ = std::string("no ") + vendor::blas_libraries[0] +
                    ", nor an older one: install PyTorch or the CUDA toolkit, or set LD_LIBRARY_PATH";
}

bool BlasLibrary::load(const std::string& file) {
  const SharedLibrary library(file, RTLD_LOCAL);
  return library.loaded() && library.find("cublasCreate_v2", api_.create) &&
         library.find("cublasDestroy_v2", api_.destroy) &&
         library.find("cublasGetVersion_v2", api_.get_version) &&
         library.find("cublasSetStream_v2", api_.set_stream) &&
         library.find("cublasSetWorkspace_v2", api_.set_workspace) &&
         library.find("cublasSetMathMode", api_.set_math_mode) &&
         library.find("cublasSetSmCountTarget", api_.set_sm_count_target) &&
         library.find("cublasGemmEx", api_.gemm);
}

void BlasLibrary::check(int status, const char* call) {
  if (status == blas_success) return;
  throw Error(Fault::broken, std::string(call) + ": cuBLAS's status " + std::to_string(status));
}

}  // namespace linkscope::gpu
