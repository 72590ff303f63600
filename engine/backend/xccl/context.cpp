// Loads the library of this engine's vendor.
#include "backend/xccl/context.hpp"

#include <utility>

namespace linkscope::xccl {
namespace {

std::shared_ptr<const Library> load(Search search) {
  search.name = gpu::vendor::xccl_name;
  search.file = gpu::vendor::xccl_library;
  return std::make_shared<const Library>(search);
}

}  // namespace

Context::Context(std::shared_ptr<gpu::Context> gpus, Search search)
    : gpus_(std::move(gpus)), library_(load(std::move(search))), communicators_(library_, gpus_) {}

Support Context::available() const {
  if (!library_->problem().empty()) return Support::no(library_->problem());
  return gpus_->device_count() > 0 ? Support::yes() : Support::no(gpus_->problem());
}

std::map<std::string, std::string> Context::versions() const {
  if (!library_->problem().empty()) return {};
  return {{library_->name(), library_->version()}};
}

}  // namespace linkscope::xccl
