// The GPUs of this machine with one of each memory and method, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/backend.hpp"
#include "backend/host/context.hpp"
#include "model/backend.hpp"
#include "run/catalog_gpu.hpp"

namespace linkscope::testing {

/// Skips the test where there is no GPU. Opened once for each test: contexts end with it.
class WithGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_ = open_gpus(host_, 8);
    if (backend_->devices.empty()) GTEST_SKIP() << backend_->problem;
  }

  [[nodiscard]] const Memory& memory(const std::string& name) const {
    for (const auto& memory : backend_->memories) {
      if (memory->name() == name) return *memory;
    }
    throw std::out_of_range(name);
  }
  [[nodiscard]] const Method& method(const std::string& name) const {
    for (const auto& method : backend_->methods) {
      if (method->name() == name) return *method;
    }
    throw std::out_of_range(name);
  }
  /// An endpoint of that memory on gpu:0, or beside it on the host.
  [[nodiscard]] static Endpoint at(const std::string& memory) {
    const bool on_gpu = memory == "device" || memory == "managed";
    const DeviceId device{on_gpu ? DeviceKind::gpu : DeviceKind::numa, 0};
    return {device, memory, Placement::bound, device};
  }
  [[nodiscard]] Gate& gate() const { return *backend_->gate; }

  std::shared_ptr<host::Context> host_ = std::make_shared<host::Context>();
  std::optional<Backend> backend_;
};

inline constexpr DeviceId gpu0{DeviceKind::gpu, 0};

}  // namespace linkscope::testing
