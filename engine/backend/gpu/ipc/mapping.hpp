// IpcMapping: memory of a GPU that one process of this node offers and another maps into its own addresses.
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

/// Whether memory of that kind has a handle by which another process can map it.
[[nodiscard]] Support has_ipc_handle(const Endpoint& where);

/// What a process must be told to map a buffer of another one, and to know that both mean the same by it.
class IpcExport {
 public:
  /// Of `buffer`, in memory of a GPU. Throws Error{unsupported} with the driver's words where that gives no handle.
  static IpcExport of(GpuContext& context, const Buffer& buffer, const Rotation& rotation);
  /// The inverse of text(). Throws Error{broken} for anything else.
  static IpcExport read(const std::string& text);

  /// As bytes, for PreparedParts::export_handles().
  [[nodiscard]] std::string text() const;
  /// Whether this process can map it, as a buffer that a flow of `rotation` uses.
  [[nodiscard]] Support usable(const GpuContext& context, const Rotation& rotation) const;
  /// The GPU that holds it, by its number in this process. Only where usable().
  [[nodiscard]] DeviceId device(const GpuContext& context) const;
  [[nodiscard]] Bytes bytes() const { return words_.bytes; }

 private:
  friend class IpcMappings;
  struct Words {
    gpuIpcMemHandle_t handle;
    Bytes offset;  ///< of the buffer within the allocation that the handle means
    Bytes bytes;
    Bytes stride;
    std::uint64_t slots;
    char pci[32];
    char boot[64];  ///< names the node while it runs: a handle means nothing on another
  };
  Words words_{};
};

/// Another process's buffer. It is filled, poisoned and checked by the process that allocated it: here these do
/// nothing.
class ForeignBuffer final : public Buffer {
 public:
  /// `mapping`: what keeps the address valid.
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

/// The allocations of other processes that are mapped here: each once for a GPU, for as long as a buffer needs it.
class IpcMappings {
 public:
  explicit IpcMappings(std::shared_ptr<GpuContext> context);
  ~IpcMappings();
  IpcMappings(const IpcMappings&) = delete;
  IpcMappings& operator=(const IpcMappings&) = delete;

  /// What `offer`, which is usable() here, means to kernels and copies of GPU `device`; switches peer access on.
  /// `rank`: the process that offered it. Throws Error{unsupported} with the driver's words where it cannot be mapped.
  [[nodiscard]] std::unique_ptr<ForeignBuffer> open(int device, const IpcExport& exported, int rank);

 private:
  class Mapping;

  std::shared_ptr<GpuContext> context_;
  std::map<std::pair<int, std::string>, std::weak_ptr<const Mapping>> open_;  ///< by GPU and handle
};

}  // namespace linkscope::gpu
