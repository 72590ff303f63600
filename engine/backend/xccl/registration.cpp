// Registering with the library.
#include "backend/xccl/registration.hpp"

#include <utility>

namespace linkscope::xccl {

Registration::Registration(std::shared_ptr<Communicator> communicator, int device, const Buffer& buffer)
    : communicator_(std::move(communicator)), device_(device) {
  const Library& library = communicator_->library();
  library.check(
      library.api().comm_register(communicator_->handle(device_), buffer.data(), buffer.bytes(), &handle_),
      "ncclCommRegister");
}

/// A communicator that was given up has forgotten its buffers.
Registration::~Registration() {
  if (communicator_->broken()) return;
  static_cast<void>(gpuSetDevice(device_));
  static_cast<void>(communicator_->library().api().comm_deregister(communicator_->handle(device_), handle_));
}

}  // namespace linkscope::xccl
