// Payloads: what every process said in an exchange, as one payload.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace linkscope {

std::string pack(const std::vector<std::string>& words);
/// None where `payload` was not packed so.
std::optional<std::vector<std::string>> unpack(const std::string& payload);
/// The same where it does not hold exactly `count` words.
std::optional<std::vector<std::string>> unpack(const std::string& payload, std::size_t count);

}  // namespace linkscope
