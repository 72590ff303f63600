// Reading what Linux says in /proc and /sys: one value, one list or one "Key: value" line at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace linkscope::host {

/// First line of a file, without its end; nothing where it cannot be read.
std::optional<std::string> read_line(const std::string& path);
/// First line as a number, with the suffixes K, M and G that cache files use; nothing for "max" and other
/// words.
std::optional<Bytes> read_bytes(const std::string& path);
/// The number behind `key` in a file of "Key: 123 kB" or "key 123" lines, in bytes where it says kB.
std::optional<Bytes> read_keyed(const std::string& path, const std::string& key);
/// "0-3,8" as 0 1 2 3 8.
std::vector<int> parse_list(const std::string& text);
/// The word in brackets of "always [madvise] never"; empty where the file is missing.
std::string read_choice(const std::string& path);

}  // namespace linkscope::host
