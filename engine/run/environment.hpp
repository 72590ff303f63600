// Environment: everything the engine takes from environment variables, read once.
#pragma once

#include <cstdint>

#include "model/waiting.hpp"

namespace linkscope {

struct Environment {
  /// LINKSCOPE_SEED: seed of the first pattern; later rounds and flows count on from it. Default 1.
  std::uint64_t first_seed = 1;
  /// LINKSCOPE_SYNC: spin (default), yield or block.
  Waiting waiting = Waiting::spin;

  /// Throws Error{bad_input} naming the variable.
  static Environment read();
};

}  // namespace linkscope
