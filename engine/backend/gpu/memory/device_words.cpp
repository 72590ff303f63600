#include "backend/gpu/memory/device_words.hpp"

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

DeviceWords::DeviceWords(GpuContext& context, int device, std::size_t count)
    : context_(context), device_(device), count_(count) {
  context_.use(device_);
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuMalloc(&memory, count_ * sizeof(std::uint64_t)));
  words_ = static_cast<std::uint64_t*>(memory);
  clear();
}

DeviceWords::~DeviceWords() {
  static_cast<void>(gpuSetDevice(device_));
  static_cast<void>(gpuFree(words_));
}

void DeviceWords::clear() {
  const gpuStream_t stream = context_.service_stream(device_);
  LINKSCOPE_CHECK(gpuMemsetAsync(words_, 0, count_ * sizeof(std::uint64_t), stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
}

std::vector<std::uint64_t> DeviceWords::read() const {
  std::vector<std::uint64_t> words(count_);
  const gpuStream_t stream = context_.service_stream(device_);
  LINKSCOPE_CHECK(
      gpuMemcpyAsync(words.data(), words_, count_ * sizeof(std::uint64_t), gpuMemcpyDefault, stream));
  LINKSCOPE_CHECK(gpuStreamSynchronize(stream));
  return words;
}

}  // namespace linkscope::gpu
