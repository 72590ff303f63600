// Loads the library of this engine's vendor.
#include "backend/xccl/context.hpp"

#include <optional>
#include <utility>

namespace linkscope::xccl {
namespace {

std::shared_ptr<const XcclLibrary> load(Search search) {
  search.name = gpu::vendor::xccl_name;
  search.file = gpu::vendor::xccl_library;
  return std::make_shared<const XcclLibrary>(search);
}

}  // namespace

XcclContext::XcclContext(std::shared_ptr<gpu::GpuContext> gpus, Search search)
    : gpus_(std::move(gpus)), library_(load(std::move(search))), communicators_(library_, gpus_) {}

Support XcclContext::available() const {
  if (!library_->problem().empty()) return Support::no(library_->problem());
  return gpus_->available();
}

std::map<std::string, std::string> XcclContext::versions() const {
  if (!library_->problem().empty()) return {};
  return {{library_->name(), library_->version()}, {library_->name() + " library", library_->file()}};
}

std::string XcclContext::note() const {
  std::optional<bool> multicast;
  for (int index = 0; index < gpus_->device_count(); ++index) {
    const std::optional<bool> reported = gpus_->device(index).multicast;
    if (reported.has_value()) multicast = multicast.value_or(true) && *reported;
  }
  return library_->note(multicast);
}

}  // namespace linkscope::xccl
