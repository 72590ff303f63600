// Looks for the library and for its functions.
#include "backend/xccl/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/shared_library.hpp"

namespace linkscope::xccl {

struct Config {
  std::size_t size = sizeof(Config);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 0;
  int blocking = CallConfig::unset;
  int cluster_size = CallConfig::unset;
  int least_ctas = CallConfig::unset;
  int most_ctas = CallConfig::unset;
  const char* network = nullptr;
  int split_share = CallConfig::unset;
  int traffic_class = CallConfig::unset;
  const char* name = nullptr;
  int collnet = CallConfig::unset;
  int policy = CallConfig::unset;
  int shrink_share = CallConfig::unset;
  int nvls_ctas = CallConfig::unset;
};

namespace {

/// Versions from which on fields of Config mean something.
constexpr int has_ctas = 21700;
constexpr int has_policy = 22700;
constexpr int has_policy_zero = 22800;

/// Where a Python has its packages, and Debian's own one.
constexpr std::array package_folders{"site-packages/", "dist-packages/"};

/// Returns what is set of the library's own variables, as "NCCL_ALGO=Ring, NCCL_PROTO=LL", in order; not those that
/// only tell what happens, nor NCCL_VERSION, by which NVIDIA's container images say what they hold.
std::string settings_of_user() {
  std::vector<std::string> settings;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string setting = *one;
    const std::string name = setting.substr(0, setting.find('='));
    const bool known = name.starts_with("NCCL_") || name.starts_with("RCCL_");
    if (known && !name.starts_with("NCCL_DEBUG") && name != "NCCL_VERSION") settings.push_back(setting);
  }
  std::sort(settings.begin(), settings.end());
  std::string all;
  for (const std::string& setting : settings) all += (all.empty() ? "" : ", ") + setting;
  return all;
}

/// "librccl.so" from "librccl.so.1": PyTorch's own copy has no number.
std::string without_number(const std::string& file) {
  const auto end = file.find(".so");
  return end == std::string::npos ? file : file.substr(0, end + 3);
}

/// Returns the file that `function` is from; `otherwise` where the loader cannot tell.
std::string file_of(const void* function, const std::string& otherwise) {
  Dl_info found{};
  const bool known = dladdr(function, &found) != 0 && found.dli_fname != nullptr;
  return known ? found.dli_fname : otherwise;
}

}  // namespace

std::vector<std::string> library_folders(const std::vector<std::string>& environments,
                                         std::span<const char* const> packages) {
  std::vector<std::string> folders;
  std::error_code none;
  for (const std::string& environment : environments) {
    for (const auto& python : std::filesystem::directory_iterator(environment + "/lib", none)) {
      for (const char* folder : package_folders) {
        for (const char* package : packages) {
          const std::filesystem::path path = python.path() / (std::string(folder) + package);
          if (std::filesystem::is_directory(path, none)) folders.push_back(path.string());
        }
      }
    }
  }
  return folders;
}

XcclLibrary::XcclLibrary(const Search& search) : name_(search.name), settings_(settings_of_user()) {
  if (const char* nvls = std::getenv("NCCL_NVLS_ENABLE")) nvls_ = nvls;
  std::string tried;
  if (!search.wanted.empty()) {
    if (!load(search.wanted, tried)) problem_ = "LINKSCOPE_XCCL: " + tried;
    return;
  }
  if (load(search.file, tried)) return;
  std::error_code none;
  for (const std::string& folder : search.folders) {
    for (const std::string& file : {search.file, without_number(search.file)}) {
      const std::string path = folder + "/" + file;
      if (std::filesystem::exists(path, none) && load(path, tried)) return;
    }
    tried += "; " + folder;
  }
  problem_ = "no " + search.file + ": " + tried + "; LINKSCOPE_XCCL names another";
}

/// Takes `file` if it is one; else adds to `tried` why not.
bool XcclLibrary::load(const std::string& file, std::string& tried) {
  const SharedLibrary library(file, RTLD_LOCAL);
  std::string reason = library.loaded() ? missing_function(library) : SharedLibrary::problem();
  int code = 0;
  if (reason.empty() && api_.get_version(&code) != Result::success)
    reason = file + " does not tell its version";
  if (reason.empty()) {
    version_ = version_text(code);
    version_code_ = code;
    file_ = file_of(reinterpret_cast<const void*>(api_.get_version), file);
    return true;
  }
  api_ = {};
  tried += (tried.empty() ? "" : "; ") + one_line(reason);
  return false;
}

/// Fills the table; the reason why that cannot be, or nothing.
std::string XcclLibrary::missing_function(const SharedLibrary& library) {
  std::string missing;
  const auto need = [&](const char* symbol, auto*& function) {
    if (!library.find(symbol, function) && missing.empty()) missing = SharedLibrary::problem();
  };
  need("ncclGetVersion", api_.get_version);
  need("ncclGetUniqueId", api_.get_unique_id);
  need("ncclGetErrorString", api_.get_error_string);
  need("ncclCommInitRank", api_.comm_init_rank);
  need("ncclCommDestroy", api_.comm_destroy);
  need("ncclCommAbort", api_.comm_abort);
  need("ncclCommGetAsyncError", api_.comm_get_async_error);
  need("ncclGroupStart", api_.group_start);
  need("ncclGroupEnd", api_.group_end);
  need("ncclAllReduce", api_.all_reduce.plain);
  need("ncclReduce", api_.reduce.plain);
  need("ncclBroadcast", api_.broadcast.plain);
  need("ncclReduceScatter", api_.reduce_scatter.plain);
  need("ncclAllGather", api_.all_gather.plain);
  need("ncclSend", api_.send);
  need("ncclRecv", api_.recv);
  find_newer(library);
  return missing;
}

/// Fills in what older libraries do not have.
void XcclLibrary::find_newer(const SharedLibrary& library) {
  static_cast<void>(library.find("ncclGetLastError", api_.get_last_error));
  static_cast<void>(library.find("ncclAlltoAll", api_.all_to_all.plain) ||
                    library.find("ncclAllToAll", api_.all_to_all.plain));  // RCCL's own
  if (!library.find("ncclMemFree", api_.mem_free) || !library.find("ncclMemAlloc", api_.mem_alloc))
    api_.mem_free = nullptr;
  if (!library.find("ncclCommDeregister", api_.comm_deregister) ||
      !library.find("ncclCommRegister", api_.comm_register))
    api_.comm_deregister = nullptr;
  if (!library.find("ncclCommWindowDeregister", api_.comm_window_deregister) ||
      !library.find("ncclCommWindowRegister", api_.comm_window_register))
    api_.comm_window_deregister = nullptr;
  static_cast<void>(library.find("ncclCommInitRankConfig", api_.comm_init_rank_config));
  static_cast<void>(library.find("ncclAllReduceConfig", api_.all_reduce.configured) &&
                    library.find("ncclReduceConfig", api_.reduce.configured) &&
                    library.find("ncclBroadcastConfig", api_.broadcast.configured) &&
                    library.find("ncclReduceScatterConfig", api_.reduce_scatter.configured) &&
                    library.find("ncclAllGatherConfig", api_.all_gather.configured) &&
                    library.find("ncclAlltoAllConfig", api_.all_to_all.configured));
}

Support XcclLibrary::allocates() const {
  return api_.mem_alloc != nullptr ? Support::yes() : lacks("ncclMemAlloc", "2.19");
}

Support XcclLibrary::registers() const {
  return api_.comm_register != nullptr ? Support::yes() : lacks("ncclCommRegister", "2.19");
}

Support XcclLibrary::has_windows() const {
  return api_.comm_window_register != nullptr ? Support::yes() : lacks("ncclCommWindowRegister", "2.27");
}

Support XcclLibrary::takes(const CommunicatorSettings& settings) const {
  const bool configures = api_.comm_init_rank_config != nullptr;
  if (settings.ctas > 0 && !(configures && version_code_ >= has_ctas))
    return lacks("number of CTAs by communicator", "2.17");
  if (settings.policy == CtaPolicy::zero && !(configures && version_code_ >= has_policy_zero))
    return lacks("policy zero", "2.28");
  if (settings.policy != CtaPolicy::automatic && !(configures && version_code_ >= has_policy))
    return lacks("CTA policy", "2.27");
  return Support::yes();
}

Support XcclLibrary::configures_calls() const {
  return api_.all_to_all.configured != nullptr ? Support::yes() : lacks("ncclAllReduceConfig", "2.31");
}

CallConfig XcclLibrary::call_config(const std::string& algorithms) const {
  CallConfig config;
  config.version = static_cast<unsigned int>(version_code_);
  config.algorithm = algorithms.c_str();
  return config;
}

void XcclLibrary::init(Comm** comm, int members, const UniqueId& id, int member,
                       const CommunicatorSettings& settings) const {
  if (settings.policy == CtaPolicy::automatic && settings.ctas == 0)
    return check(api_.comm_init_rank(comm, members, id, member), "ncclCommInitRank");
  Config config;
  config.version = static_cast<unsigned int>(version_code_);
  if (settings.ctas > 0) config.least_ctas = config.most_ctas = settings.ctas;
  if (settings.policy != CtaPolicy::automatic) config.policy = static_cast<int>(settings.policy);
  check(api_.comm_init_rank_config(comm, members, id, member, &config), "ncclCommInitRankConfig");
}

void* XcclLibrary::register_buffer(Comm* comm, void* address, std::size_t bytes) const {
  void* handle = nullptr;
  check(api_.comm_register(comm, address, bytes, &handle), "ncclCommRegister");
  require(handle, "ncclCommRegister");
  return handle;
}

void XcclLibrary::require(const void* handle, const char* call) const {
  if (handle != nullptr) return;
  throw Error(Fault::unsupported, name_ + " " + version_ + ": " + call +
                                      " registered nothing and said that all is well, as where "
                                      "NCCL_LOCAL_REGISTER=0, NCCL_WIN_ENABLE=0 or NCCL_CUMEM_ENABLE=0");
}

Support XcclLibrary::lacks(const char* symbol, const char* since) const {
  if (!problem_.empty()) return Support::no(problem_);
  return Support::no(name_ + " " + version_ + " has no " + symbol + ", which came with NCCL " + since);
}

std::string XcclLibrary::note(std::optional<bool> multicast) const {
  std::string said = name_ + " " + version_ + (settings_.empty() ? "" : ", " + settings_);
  if (!multicast.has_value()) return said;
  if (nvls_ == "0") return said + ", NVLink SHARP off [nvls-off]";
  return said + (*multicast ? ", NVLink SHARP as it chooses [nvls-free]"
                            : ", no NVLink SHARP: the GPUs report no multicast [nvls-none]");
}

void XcclLibrary::check(Result result, const char* call) const {
  if (result == Result::success) return;
  std::string what = std::string(call) + ": " + api_.get_error_string(result) + " (" +
                     std::to_string(static_cast<int>(result)) + ")";
  const char* last = api_.get_last_error == nullptr ? nullptr : api_.get_last_error(nullptr);
  if (last != nullptr && *last != '\0') what += std::string(": ") + last;
  throw Error(Fault::broken, one_line(what));
}

std::string version_text(int code) {
  constexpr int first_wide = 10000;  // from 2.9 on there are two digits for the minor version
  const int major = code < first_wide ? code / 1000 : code / 10000;
  const int minor = code < first_wide ? code % 1000 / 100 : code % 10000 / 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

Group::Group(const XcclLibrary& library) : library_(library) {
  library_.check(library_.api().group_start(), "ncclGroupStart");
}

Group::~Group() {
  if (!ended_) static_cast<void>(library_.api().group_end());
}

void Group::end() {
  ended_ = true;
  library_.check(library_.api().group_end(), "ncclGroupEnd");
}

}  // namespace linkscope::xccl
