// GroupedMessages: the messages of one case, in the calls of one process.
#pragma once

#include <memory>
#include <vector>

#include "backend/xccl/group_calls.hpp"
#include "model/flow_part.hpp"

namespace linkscope::xccl {

/// A message. Where an end is in another process, its buffer is null here.
struct XcclMessage {
  RankDevice from;
  RankDevice to;
  Bytes bytes = 0;
  Buffer* source = nullptr;
  Buffer* destination = nullptr;
  Rotation rotation;
};

/// Every process that takes part in the case adds all of its messages, in the same order; then transfers are armed.
class GroupedMessages final : public GroupCalls {
 public:
  using GroupCalls::GroupCalls;

  /// The exchange that messages of this role join: that of the case at hand, or a new one. Throws Error{bad_input}
  /// where it has another form.
  static std::shared_ptr<GroupedMessages> of(const std::shared_ptr<XcclContext>& context, Role role,
                                             const CallOptions& form);

  [[nodiscard]] TransferFacts facts() const override {
    TransferFacts facts = GroupCalls::facts();
    facts.call_group = "xccl";
    return facts;
  }
  void add(const XcclMessage& message);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  /// The identifier for the communicator that may have to be made.
  void identify(const UniqueId& id) { id_ = id; }

 private:
  [[nodiscard]] std::shared_ptr<Communicator> connect() override;
  [[nodiscard]] std::vector<int> devices() const override;
  [[nodiscard]] std::vector<const Buffer*> buffers(int device) const override;
  void call(Communicator& communicator, const gpu::DeviceStream& stream, std::uint64_t turn) override;

  std::vector<XcclMessage> messages_;
  int rank_ = 0;  ///< this process's
  UniqueId id_{};
};

}  // namespace linkscope::xccl
