#pragma once

#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft::test {

// Pages of the documentation, and a place to do what they say.

struct Block {
  std::string fence;
  std::vector<std::string> lines;
};

inline std::string read_page(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::vector<Block> blocks_of(const std::filesystem::path& page) {
  std::vector<Block> blocks;
  std::ifstream stream(page);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  CHECK_FALSE(inside);
  return blocks;
}

/// A folder in which `stagecraft` is the program under test, and which looks like a clone with a release build.
struct Desk {
  TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();
  Desk() {
    std::filesystem::create_directories(folder / "bin");
    std::filesystem::create_directories(folder / "build/release");
    for (const char* place : {"bin/stagecraft", "build/release/stagecraft"}) {
      std::filesystem::create_symlink(STAGECRAFT_PROGRAM, folder / place);
    }
    for (const char* data : {"experiments", "examples", "validation"}) {
      std::filesystem::create_directory_symlink(std::filesystem::path(STAGECRAFT_SOURCE_DIR) / data, folder / data);
    }
  }

  /// The output of the command, on both streams.
  [[nodiscard]] std::string output_of(const std::string& command) const {
    const std::filesystem::path script = folder / "bin/command.sh";
    std::ofstream(script) << "export STAGECRAFT_DATA='" << STAGECRAFT_SOURCE_DIR << "' PATH='" << folder.string()
                          << "/bin':$PATH\ncd '" << folder.string() << "' || exit\n"
                          << command << "\n";
    const std::filesystem::path output = folder / "bin/output.txt";
    const std::string line = "sh '" + script.string() + "' >'" + output.string() + "' 2>&1";
    static_cast<void>(std::system(line.c_str()));  // NOLINT(cert-env33-c,concurrency-mt-unsafe): a shell is meant
    // A command that takes long here says so now and then.
    static const std::regex kProgress(
        "stagecraft: (after [^\n]* still [^\n]*"
        "|[^\n]*: (no plan fits|refused|[^\n ]* samples/s with [^\n]* replicas(, but out of memory)?))\n");
    return std::regex_replace(read_page(output), kProgress, "");
  }
};

}  // namespace stagecraft::test
