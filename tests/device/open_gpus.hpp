// The GPUs of this machine with one of each memory and method, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/backend.hpp"
#include "backend/host/context.hpp"
#include "base/error.hpp"
#include "endpoints.hpp"
#include "model/backend.hpp"
#include "run/catalog.hpp"

namespace linkscope::testing {

/// A transfer and the memory it uses.
struct Prepared {
  std::unique_ptr<Buffer> source;
  std::unique_ptr<Buffer> destination;
  std::unique_ptr<Transfer> transfer;
};

/// Skips the test where there is no GPU. Opened once for each test: contexts end with it.
class WithGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    Environment environment;
    if (const char* xccl = std::getenv("LINKSCOPE_XCCL")) environment.xccl = xccl;
    backend_ = open_gpus(host_, 8, environment);
    if (backend_->devices.empty()) GTEST_SKIP() << backend_->problem;
  }

  [[nodiscard]] const Memory& memory(const std::string& name) const {
    for (const auto& memory : backend_->memories) {
      if (memory->name() == name) return *memory;
    }
    throw std::out_of_range(name);
  }
  [[nodiscard]] const Method& method(const std::string& name) const {
    for (const Method& method : backend_->methods) {
      if (method.name() == name) return method;
    }
    throw std::out_of_range(name);
  }
  /// What that parameter of the method, which has it, says against the value; empty where it takes it.
  [[nodiscard]] std::string objection(const std::string& name, const std::string& parameter,
                                      const std::string& value) const {
    for (const Parameter& one : method(name).parameters) {
      if (one.name == parameter) return one.objection(value);
    }
    throw std::out_of_range(parameter);
  }
  /// An endpoint of that memory on gpu:0, or beside it on the host.
  [[nodiscard]] static Endpoint at(const std::string& memory) {
    const bool on_gpu =
        memory == "device" || memory == "managed" || memory == "pool" || memory == "vmm" || memory == "xccl";
    const DeviceId device{on_gpu ? DeviceKind::gpu : DeviceKind::numa, 0};
    return endpoint(device, memory);
  }
  /// Throws Error{unsupported} where the method refuses.
  [[nodiscard]] Prepared prepare(const Flow& flow, std::uint64_t slots = 1) const {
    const Method& wanted = method(flow.method);
    if (const Support support = wanted.supports(flow); !support)
      throw Error(Fault::unsupported, support.reason());
    Prepared prepared;
    Arenas arenas;
    arenas.rotation = {(wanted.footprint(flow) + 255) / 256 * 256, slots};
    const Bytes bytes = arenas.rotation.stride * slots;
    if (flow.source && bytes > 0) prepared.source = memory(flow.source->memory).allocate(*flow.source, bytes);
    if (flow.destination && bytes > 0)
      prepared.destination = memory(flow.destination->memory).allocate(*flow.destination, bytes);
    arenas.source = prepared.source.get();
    arenas.destination = prepared.destination.get();
    prepared.transfer = wanted.prepare(flow, arenas);
    return prepared;
  }
  [[nodiscard]] Gate& gate() const { return *backend_->gate; }

  std::shared_ptr<host::HostContext> host_ = std::make_shared<host::HostContext>();
  std::optional<Backend> backend_;
};

inline constexpr DeviceId gpu0{DeviceKind::gpu, 0};

}  // namespace linkscope::testing
