// Registration: a buffer that a communicator knows.
#pragma once

#include <memory>

#include "backend/xccl/communicator.hpp"
#include "model/buffer.hpp"

namespace linkscope::xccl {

/// Registers all of `buffer` for the calls of `device` (ncclCommRegister), and takes that back when it goes: before the
/// buffer does.
class Registration {
 public:
  /// `device` is current. Throws what XcclLibrary::register_buffer() throws, and Error{broken} after
  /// Communicator::abort().
  Registration(std::shared_ptr<Communicator> communicator, int device, const Buffer& buffer);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  std::shared_ptr<Communicator> communicator_;
  int device_;
  Comm* comm_;
  void* handle_;
};

}  // namespace linkscope::xccl
