#include "model/flow_part.hpp"

namespace linkscope {

std::vector<std::string> Arenas::residences() const {
  std::vector<std::string> found;
  const auto add = [&](const char* end, const Buffer* buffer) {
    const std::string told = buffer == nullptr ? "" : buffer->residence();
    if (!told.empty()) found.push_back(end + told);
  };
  add("source: ", source);
  add("destination: ", destination);
  return found;
}

}  // namespace linkscope
