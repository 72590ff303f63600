#include "base/boot_id.hpp"

#include <fstream>

namespace linkscope {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace linkscope
