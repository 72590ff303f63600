// Error mapping of vendor calls.
#include "backend/gpu/vendor/check.hpp"

#include <cstring>

namespace linkscope::gpu {
namespace {

/// A lost context answers every call with the same error; clearing the last error does not help. A thread that records a
/// graph may not ask in its own mode: the refusal would look like a lost context.
bool context_lost() {
  gpuStreamCaptureMode mode = gpuStreamCaptureModeRelaxed;
  const bool exchanged = gpuThreadExchangeStreamCaptureMode(&mode) == gpuSuccess;
  static_cast<void>(gpuGetLastError());
  const gpuError_t status = gpuStreamQuery(nullptr);
  if (exchanged) static_cast<void>(gpuThreadExchangeStreamCaptureMode(&mode));
  return status != gpuSuccess && status != gpuErrorNotReady;
}

/// The vendor's function name out of the call's text: "gpuMalloc(...)" is cudaMalloc.
std::string function_of(const char* call) {
  const std::string function(call, std::strcspn(call, "("));
  return function.starts_with("gpu") ? vendor::name + function.substr(3) : function;
}

}  // namespace

std::string describe(gpuError_t status) {
  return std::string(gpuGetErrorString(status)) + " (" + std::to_string(static_cast<int>(status)) + ")";
}

void check(gpuError_t status, const char* call) {
  if (status == gpuSuccess) return;
  const std::string what = function_of(call) + ": " + describe(status);
  const bool lost = context_lost();
  if (status == gpuErrorMemoryAllocation && !lost) throw Error(Fault::no_memory, what);
  throw Error(lost ? Fault::fatal : Fault::broken, what);
}

void refusal_is_no_support(const std::string& what, const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.fault() != Fault::broken) throw;
    throw Error(Fault::unsupported, what + ": " + error.what());
  }
}

}  // namespace linkscope::gpu
