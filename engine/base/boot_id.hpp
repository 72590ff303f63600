// boot_id: which start of which machine this is.
#pragma once

#include <string>

namespace linkscope {

/// Changes with every start of a host and is the same in all its containers; empty where the system does not say.
[[nodiscard]] std::string boot_id();

}  // namespace linkscope
