#include "record/record_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace linkscope {
namespace {

int copy_of(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw WriteError(std::string("cannot write the results: ") + std::strerror(errno));
  return copy;
}

}  // namespace

RecordStream::RecordStream(int output, int diagnostics)
    : output_(output), records_(copy_of(output)), lines_(records_) {
  static_cast<void>(::dup2(diagnostics, output));
}

RecordStream::~RecordStream() {
  static_cast<void>(::dup2(records_, output_));
  static_cast<void>(::close(records_));
}

}  // namespace linkscope
