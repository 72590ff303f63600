// XcclContext: the library in this process, and what its methods share.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/xccl/communicator.hpp"
#include "backend/xccl/library.hpp"
#include "base/error.hpp"
#include "model/flow.hpp"

namespace linkscope::xccl {

class GroupCalls;

class XcclContext {
 public:
  /// `search` without name and file: this engine's vendor's are taken.
  XcclContext(std::shared_ptr<gpu::GpuContext> gpus, Search search);

  [[nodiscard]] const std::shared_ptr<gpu::GpuContext>& gpus() const { return gpus_; }
  [[nodiscard]] const XcclLibrary& library() const { return *library_; }
  [[nodiscard]] Communicators& communicators() { return communicators_; }
  /// The library where it is, and a GPU to use it on.
  [[nodiscard]] Support available() const;
  /// For the run's header: {"nccl": "2.28.9"}.
  [[nodiscard]] std::map<std::string, std::string> versions() const;
  /// A remark for rows: XcclLibrary::note() with what the GPUs report.
  [[nodiscard]] std::string note() const;
  /// The group that messages of this role join: flows of a case are assembled one after another, and the first that is
  /// armed closes it. Gone with the last of its messages.
  [[nodiscard]] std::weak_ptr<GroupCalls>& taking_messages(Role role) { return taking_messages_[role]; }

 private:
  std::shared_ptr<gpu::GpuContext> gpus_;
  std::shared_ptr<const XcclLibrary> library_;
  Communicators communicators_;
  std::map<Role, std::weak_ptr<GroupCalls>> taking_messages_;
};

}  // namespace linkscope::xccl
