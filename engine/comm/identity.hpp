// Identity: what tells this process's machine and clock from others.
#pragma once

#include <string>

namespace linkscope {

/// As the system says it; "unknown" where it does not.
std::string host_name();

/// Names the steady clock that this process reads: boot, host and time namespace. Processes with the same one can be
/// expected to read the same clock. Empty where the system does not say.
std::string clock_identity();

}  // namespace linkscope
