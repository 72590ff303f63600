// Sends and receives of one process.
#include "backend/xccl/grouped_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace linkscope::xccl {
namespace {

void keep_each_once(auto& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

std::shared_ptr<GroupedMessages> GroupedMessages::of(const std::shared_ptr<XcclContext>& context, Role role,
                                                     const CallOptions& form) {
  std::weak_ptr<GroupedMessages>& current = context->exchange(role);
  std::shared_ptr<GroupedMessages> found = current.lock();
  if (found == nullptr || found->begun()) {
    found = std::make_shared<GroupedMessages>(context, form);
    current = found;
  }
  if (found->form() != form)
    throw Error(Fault::bad_input,
                "xccl: the messages of a case go out together: one form, one launch, one registration");
  return found;
}

void GroupedMessages::add(const XcclMessage& message) {
  messages_.push_back(message);
  if (message.source != nullptr) rank_ = message.from.rank;
  if (message.destination != nullptr) rank_ = message.to.rank;
}

std::shared_ptr<Communicator> GroupedMessages::connect() {
  RankDevices members;
  for (const XcclMessage& message : messages_) {
    members.push_back(message.from);
    members.push_back(message.to);
  }
  keep_each_once(members);
  return context().communicators().lease(members, rank_, id_);
}

std::vector<int> GroupedMessages::devices() const {
  std::vector<int> devices;
  for (const XcclMessage& message : messages_) {
    if (message.source != nullptr) devices.push_back(message.from.device);
    if (message.destination != nullptr) devices.push_back(message.to.device);
  }
  keep_each_once(devices);
  return devices;
}

std::vector<const Buffer*> GroupedMessages::buffers(int device) const {
  std::vector<const Buffer*> buffers;
  for (const XcclMessage& message : messages_) {
    if (message.source != nullptr && message.from.device == device) buffers.push_back(message.source);
    if (message.destination != nullptr && message.to.device == device) buffers.push_back(message.destination);
  }
  return buffers;
}

void GroupedMessages::call(Communicator& communicator, const gpu::DeviceStream& stream, std::uint64_t turn) {
  const XcclLibrary& library = communicator.library();
  Comm* const comm = communicator.handle(stream.device);
  Group group(library);
  for (const XcclMessage& message : messages_) {
    const Bytes at = turn % message.rotation.slots * message.rotation.stride;
    if (message.source != nullptr && message.from.device == stream.device) {
      library.check(library.api().send(message.source->data() + at, message.bytes, DataType::int8,
                                       communicator.index_of(message.to), comm, stream.stream),
                    "ncclSend");
    }
    if (message.destination != nullptr && message.to.device == stream.device) {
      library.check(library.api().recv(message.destination->data() + at, message.bytes, DataType::int8,
                                       communicator.index_of(message.from), comm, stream.stream),
                    "ncclRecv");
    }
  }
  group.end();
}

}  // namespace linkscope::xccl
