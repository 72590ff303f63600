#include "backend/mpi/gpu_awareness.hpp"

#include <dlfcn.h>

#include <array>
#include <sstream>

namespace linkscope::mpi {

namespace {

// MPICH's numbers for kinds of GPU (MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_HIP).
constexpr std::array mpich_kinds{0, 2};
constexpr std::array queries{"MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "MPIX_Query_hip_support"};
constexpr const char* mpich_query = "MPIX_GPU_query_support";
// Of an Open MPI built without its extensions: what it was built with.
constexpr std::array built_with{"opal_built_with_cuda_support", "opal_built_with_rocm_support"};

template <class What>
What* loaded(const char* name) {
  return reinterpret_cast<What*>(dlsym(RTLD_DEFAULT, name));
}

bool names_a_gpu(const std::string& memory_kinds) {
  std::istringstream list(memory_kinds);
  for (std::string kind; std::getline(list, kind, ',');) {
    const std::string name = kind.substr(0, kind.find(':'));  // a kind may be restricted: "cuda:device"
    if (name == "cuda" || name == "rocm") return true;
  }
  return false;
}

}  // namespace

Support ask_gpu_awareness(const std::string& memory_kinds) {
  if (names_a_gpu(memory_kinds)) return Support::yes();
  std::string asked;
  const auto add = [&](const std::string& name) { asked += (asked.empty() ? "" : ", ") + name; };
  for (const char* name : queries) {
    auto* const query = loaded<int()>(name);
    if (query == nullptr) continue;
    if (query() == 1) return Support::yes();
    add(name);
  }
  if (auto* const query = loaded<int(int, int*)>(mpich_query)) {
    for (const int kind : mpich_kinds) {
      int yes = 0;
      if (query(kind, &yes) == 0 && yes != 0) return Support::yes();
    }
    add(mpich_query);
  }
  const bool answered = !asked.empty();
  for (const char* name : built_with) {
    const auto* const built = loaded<const bool>(name);
    if (built == nullptr || answered) continue;
    if (*built) return Support::yes();
    add(name);
  }
  return Support::no(asked.empty() ? "it offers no way to ask whether it takes GPU memory"
                                   : "it takes no GPU memory, says " + asked);
}

}  // namespace linkscope::mpi
