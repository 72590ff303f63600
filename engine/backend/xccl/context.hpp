// Context: the library in this process, and what its methods share.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/xccl/communicator.hpp"
#include "backend/xccl/library.hpp"
#include "model/flow.hpp"
#include "model/support.hpp"

namespace linkscope::xccl {

class Exchange;

class Context {
 public:
  /// `search` without name and file: this engine's vendor's are taken.
  Context(std::shared_ptr<gpu::Context> gpus, Search search);

  [[nodiscard]] const std::shared_ptr<gpu::Context>& gpus() const { return gpus_; }
  [[nodiscard]] const Library& library() const { return *library_; }
  [[nodiscard]] Communicators& communicators() { return communicators_; }
  /// The library where it is, and a GPU to use it on.
  [[nodiscard]] Support available() const;
  /// For the run's header: {"nccl": "2.28.9"}.
  [[nodiscard]] std::map<std::string, std::string> versions() const;
  /// What the messages of the case at hand have in common; see Exchange::of().
  [[nodiscard]] std::weak_ptr<Exchange>& exchange(Role role) { return exchanges_[role]; }

 private:
  std::shared_ptr<gpu::Context> gpus_;
  std::shared_ptr<const Library> library_;
  Communicators communicators_;
  std::map<Role, std::weak_ptr<Exchange>> exchanges_;
};

}  // namespace linkscope::xccl
