// XcclContext: the library in this process, and what its methods share; these methods, and the memory that it allocates.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/gpu/context.hpp"
#include "backend/gpu/memory/gpu_memory.hpp"
#include "backend/xccl/communicator.hpp"
#include "backend/xccl/library.hpp"
#include "base/error.hpp"
#include "model/flow.hpp"
#include "model/method.hpp"

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

/// xccl: messages from GPU to GPU by send and receive. A flow is two parts, both timed: the source's send and the
/// destination's receive.
[[nodiscard]] Method xccl_message(const std::shared_ptr<XcclContext>& context);
/// xccl-collective. Members are GPUs of one process or of several, each with its memory.
[[nodiscard]] Method xccl_collective(const std::shared_ptr<XcclContext>& context);
/// xccl: memory of one GPU from ncclMemAlloc.
[[nodiscard]] std::unique_ptr<gpu::GpuMemory> xccl_memory(std::shared_ptr<XcclContext> context);

}  // namespace linkscope::xccl
