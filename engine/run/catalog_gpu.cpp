// The GPUs' methods and memories: one list for CUDA and HIP.
#include "run/catalog_gpu.hpp"

#include <utility>

#include "backend/gpu/backend.hpp"
#include "backend/gpu/copy_engine.hpp"
#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/kernel_copy.hpp"
#include "backend/gpu/kernel_exchange.hpp"
#include "backend/gpu/kernel_read.hpp"
#include "backend/gpu/kernel_write.hpp"
#include "backend/gpu/managed_memory.hpp"
#include "backend/gpu/ping_pong.hpp"
#include "backend/gpu/pinned_memory.hpp"
#include "backend/gpu/pointer_chase.hpp"
#include "backend/gpu/registered_memory.hpp"
#include "backend/gpu/write_combined_memory.hpp"

namespace linkscope {

std::optional<Backend> open_gpus(const std::shared_ptr<host::Context>& host, std::size_t lanes) {
  gpu::Opened opened = gpu::open(host, lanes);
  Backend& backend = opened.backend;
  backend.memories.push_back(std::make_unique<gpu::PinnedMemory>(opened.context));
  backend.memories.push_back(std::make_unique<gpu::RegisteredMemory>(opened.context));
  backend.memories.push_back(std::make_unique<gpu::WriteCombinedMemory>(opened.context));
  backend.memories.push_back(std::make_unique<gpu::DeviceMemory>(opened.context));
  backend.memories.push_back(std::make_unique<gpu::ManagedMemory>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::CopyEngine>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::KernelCopy>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::KernelRead>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::KernelWrite>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::KernelExchange>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::PointerChase>(opened.context));
  backend.methods.push_back(std::make_unique<gpu::PingPong>(opened.context));
  return std::move(backend);
}

}  // namespace linkscope
