// Backend: what a machine (or a described one) offers a run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/device.hpp"
#include "model/gpu_runtime.hpp"
#include "model/method.hpp"
#include "model/packer.hpp"
#include "model/transfer.hpp"

namespace linkscope {

/// Methods, memories and the gate of one kind of machine. Owned by `run`; the catalog (run/catalog.cpp)
/// decides which methods and memories it holds.
struct Backend {
  std::string name;     ///< host, cuda, hip, fake
  std::string problem;  ///< why no GPU can be used, one line; empty when all is well
  std::map<std::string, std::string> versions;
  std::function<std::map<std::string, std::string>()>
      further_versions;  ///< those that take a while to find out: for a description alone; may be empty
  std::vector<DeviceFacts> devices;
  std::vector<std::pair<DeviceId, DeviceId>> peer_access;  ///< first can load and store second's memory
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<Method> methods;
  std::unique_ptr<Gate> gate;
  std::shared_ptr<GpuRuntime> gpu_runtime;  ///< null where there is none
  MakePacker gpu_packer;                    ///< empty where there is none
  /// Called in every process when all have left the last case: frees what others could map until then. May be empty.
  std::function<void()> free_retired;
  std::function<void()>
      finalize;  ///< called in all processes once the plan is through; may be empty, may throw Error
};

}  // namespace linkscope
