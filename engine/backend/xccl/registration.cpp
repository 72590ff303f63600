// Registering with the library.
#include "backend/xccl/registration.hpp"

#include <utility>

namespace linkscope::xccl {

Registration::Registration(std::shared_ptr<Communicator> communicator, int device, const Buffer& buffer)
    : communicator_(std::move(communicator)),
      device_(device),
      comm_(communicator_->handle(device)),
      handle_(communicator_->library().register_buffer(comm_, buffer.data(), buffer.bytes())) {}

/// A communicator that was given up has forgotten its buffers.
Registration::~Registration() {
  if (communicator_->broken() || !still_answers(device_)) return;
  static_cast<void>(communicator_->library().api().comm_deregister(comm_, handle_));
}

}  // namespace linkscope::xccl
