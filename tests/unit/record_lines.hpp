// Reads back what was recorded into a file.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "record/json_lines.hpp"

namespace linkscope {

/// The records of `file` from its beginning; closes it.
inline std::vector<Json> lines_of(std::FILE* file) {
  std::rewind(file);
  std::vector<Json> records;
  std::string line;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    records.push_back(Json::parse(line));
    line.clear();
  }
  std::fclose(file);
  return records;
}

}  // namespace linkscope
