// CallOptions: how calls of the library are made.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backend/gpu/multi_gpu_work.hpp"
#include "model/flow.hpp"

namespace linkscope::xccl {

/// Whether the library is told of the buffers before calls are measured.
enum class Registered { no, yes };

/// What parameters `form`, `recorded`, `launch` and `registered` ask for.
struct CallOptions {
  std::uint64_t recorded = 0;  ///< calls that one graph holds; 0: eager
  gpu::LaunchThreads launch = gpu::LaunchThreads::one_thread;
  Registered registered = Registered::no;

  /// Throws Error{bad_input} for words that mean nothing.
  static CallOptions of(const Parameters& parameters);
  [[nodiscard]] bool graph() const { return recorded > 0; }
  auto operator<=>(const CallOptions&) const = default;
};

/// What these parameters mean, for the catalog.
std::map<std::string, std::string> form_parameters();

}  // namespace linkscope::xccl
