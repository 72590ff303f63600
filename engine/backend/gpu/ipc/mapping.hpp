// IpcExport and IpcMappings: memory of a GPU that one process of a node gives away and another maps.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/gpu/peers.hpp"
#include "backend/gpu/vendor.hpp"
#include "base/units.hpp"
#include "model/buffer.hpp"
#include "model/device.hpp"
#include "model/transfer.hpp"

namespace linkscope::gpu {

class GpuContext;

/// Says whether memory of that kind has a handle by which another process can map it.
[[nodiscard]] Support has_ipc_handle(const Endpoint& where);

/// Tells a process how to map a buffer of another one, and lets it see that both mean the same by it.
class IpcExport {
 public:
  /// The export of `buffer`, which is in memory of a GPU. Throws Error{unsupported} with the driver's words where that
  /// gives no handle.
  static IpcExport of(GpuContext& context, const Buffer& buffer, const Rotation& rotation);
  /// Reads what text() wrote. Throws Error{broken} for anything else.
  static IpcExport read(const std::string& text);

  /// The bytes that another process read()s.
  [[nodiscard]] std::string text() const;
  /// Says whether this process can map the buffer, and would use it as a flow of `rotation` does.
  [[nodiscard]] Support usable(const GpuContext& context, const Rotation& rotation) const;
  /// The GPU that holds the buffer, by its number in this process. Only where usable().
  [[nodiscard]] DeviceId device(const GpuContext& context) const;

 private:
  friend class IpcMappings;

  gpuIpcMemHandle_t handle_{};
  Bytes offset_ = 0;  ///< of the buffer within the allocation that the handle means
  Bytes bytes_ = 0;
  Rotation rotation_;
  std::string pci_;
  std::string boot_;  ///< names the node while it runs: a handle means nothing on another
};

/// Another process's buffer. It is filled, poisoned and checked by the process that allocated it: here these do
/// nothing.
class ForeignBuffer final : public Buffer {
 public:
  /// `mapping` keeps the address valid.
  ForeignBuffer(Endpoint where, Bytes bytes, std::byte* address, std::shared_ptr<const void> mapping)
      : Buffer(std::move(where), bytes), address_(address), mapping_(std::move(mapping)) {}

  [[nodiscard]] std::byte* data() const override { return address_; }
  void fill(Bytes /*offset*/, Bytes /*length*/, std::uint64_t /*seed*/) override {}
  void poison(Bytes /*offset*/, Bytes /*length*/) override {}
  [[nodiscard]] std::optional<Bytes> compare(Bytes /*offset*/, Bytes /*length*/,
                                             std::uint64_t /*seed*/) const override {
    return std::nullopt;
  }
  void flush(Bytes /*offset*/, Bytes /*length*/) override {}

 private:
  std::byte* address_;
  std::shared_ptr<const void> mapping_;
};

/// Maps allocations of other processes: each once for a GPU, for as long as a buffer needs it.
class IpcMappings {
 public:
  explicit IpcMappings(std::shared_ptr<GpuContext> context);
  ~IpcMappings();
  IpcMappings(const IpcMappings&) = delete;
  IpcMappings& operator=(const IpcMappings&) = delete;

  /// The buffer of `exported`, which is usable() here, for kernels and copies of GPU `device`; switches peer access on.
  /// `rank`: the process that exported it. Throws Error{unsupported} with the driver's words where it cannot be mapped.
  [[nodiscard]] std::unique_ptr<ForeignBuffer> open(int device, const IpcExport& exported, int rank);

 private:
  class Mapping;

  std::shared_ptr<GpuContext> context_;
  std::map<std::pair<int, std::string>, std::weak_ptr<const Mapping>> open_;  ///< by GPU and handle
};

}  // namespace linkscope::gpu
