#pragma once

#include "tests/temporary_folder.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace stagecraft::test {

inline std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

struct ShellRun {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs a shell script in which `$S` is the program and `$D` is `folder`, from the root of the sources.
ShellRun shell(const std::string& script, const std::string& folder = "/nonexistent");

}  // namespace stagecraft::test
