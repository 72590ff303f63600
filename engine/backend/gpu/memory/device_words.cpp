#include "backend/gpu/memory/device_words.hpp"

#include "backend/gpu/vendor/check.hpp"

namespace linkscope::gpu {

namespace {

std::uint64_t* allocate(GpuContext& context, int device, std::size_t count) {
  context.use(device);
  void* memory = nullptr;
  LINKSCOPE_CHECK(gpuMalloc(&memory, count * sizeof(std::uint64_t)));
  return static_cast<std::uint64_t*>(memory);
}

}  // namespace

DeviceWords::DeviceWords(GpuContext& context, int device, std::size_t count)
    : DeviceWords(context, device, count, allocate(context, device, count)) {
  clear();  // what was delegated to is an object by now: if this throws, the destructor frees
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

void DeviceWords::write(const std::vector<std::uint64_t>& words) {
  const gpuStream_t stream = context_.service_stream(device_);
  LINKSCOPE_CHECK(
      gpuMemcpyAsync(words_, words.data(), count_ * sizeof(std::uint64_t), gpuMemcpyDefault, stream));
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
