// Sends and receives of one process.
#include "backend/xccl/exchange.hpp"

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

std::shared_ptr<Exchange> Exchange::of(const std::shared_ptr<Context>& context, Role role, const Form& form) {
  std::weak_ptr<Exchange>& current = context->exchange(role);
  std::shared_ptr<Exchange> found = current.lock();
  if (found == nullptr || found->begun()) {
    found = std::make_shared<Exchange>(context, form);
    current = found;
  }
  if (found->form() != form)
    throw Error(Fault::bad_input,
                "xccl: the messages of a case go out together: one form, one launch, one registration");
  return found;
}

void Exchange::add(const Message& message) {
  messages_.push_back(message);
  if (message.source != nullptr) rank_ = message.from.rank;
  if (message.destination != nullptr) rank_ = message.to.rank;
}

std::shared_ptr<Communicator> Exchange::connect() {
  Members members;
  for (const Message& message : messages_) {
    members.push_back(message.from);
    members.push_back(message.to);
  }
  keep_each_once(members);
  return context().communicators().lease(members, rank_, id_);
}

std::vector<int> Exchange::devices() const {
  std::vector<int> devices;
  for (const Message& message : messages_) {
    if (message.source != nullptr) devices.push_back(message.from.device);
    if (message.destination != nullptr) devices.push_back(message.to.device);
  }
  keep_each_once(devices);
  return devices;
}

std::vector<const Buffer*> Exchange::buffers(int device) const {
  std::vector<const Buffer*> buffers;
  for (const Message& message : messages_) {
    if (message.source != nullptr && message.from.device == device) buffers.push_back(message.source);
    if (message.destination != nullptr && message.to.device == device) buffers.push_back(message.destination);
  }
  return buffers;
}

void Exchange::call(Communicator& communicator, const gpu::JointStream& stream, std::uint64_t turn) {
  const Library& library = communicator.library();
  Comm* const comm = communicator.handle(stream.device);
  Group group(library);
  for (const Message& message : messages_) {
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
