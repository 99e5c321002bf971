// The tutorial and the how-tos are run as they stand: blocks that are files are written, `console` blocks are typed in,
// and what the page shows is what the program prints. A block is a file if its fence says ```LANGUAGE file=NAME or its
// first line is `# file: NAME`. Blocks `console python3` are left out where there is no Python.
#include "tests/docs/pages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

using test::Block;
using test::blocks_of;
using test::Desk;

/// The file that a block is; empty if it is none.
std::string file_name(const Block& block) {
  const std::size_t in_fence = block.fence.find(" file=");
  if (in_fence != std::string::npos) return block.fence.substr(in_fence + 6);
  const std::string mark = "# file: ";
  const bool has_mark = !block.lines.empty() && block.lines.front().starts_with(mark);
  return has_mark ? block.lines.front().substr(mark.size()) : "";
}

/// Runs the commands of a block; returns how many there were.
int type_in(const Block& block, const Desk& desk) {
  int commands = 0;
  for (std::size_t i = 0; i < block.lines.size();) {
    REQUIRE(block.lines[i].starts_with("$ "));
    const std::string command = block.lines[i].substr(2);
    std::string shown;
    for (++i; i < block.lines.size() && !block.lines[i].starts_with("$ "); ++i) shown += block.lines[i] + "\n";
    CAPTURE(command);
    CHECK(desk.output_of(command) == shown);
    ++commands;
  }
  return commands;
}

int follow(const fs::path& page) {
  const Desk desk;
  const bool has_python = desk.output_of("python3 -c 'print(1)'") == "1\n";
  int commands = 0;
  for (const Block& block : blocks_of(page)) {
    const bool lacks_python = block.fence == "console python3" && !has_python;
    if (lacks_python) MESSAGE("skipped: no python3 here");
    if (block.fence.starts_with("console") && !lacks_python) commands += type_in(block, desk);
    const std::string name = file_name(block);
    if (name.empty()) continue;
    std::ofstream file(desk.folder / name);
    for (const std::string& line : block.lines) file << line << "\n";
  }
  return commands;
}

std::vector<fs::path> pages(const std::string& folder) {
  std::vector<fs::path> result;
  for (const auto& entry : fs::directory_iterator(fs::path(STAGECRAFT_SOURCE_DIR) / "docs" / folder)) {
    if (entry.path().extension() == ".md") result.push_back(entry.path());
  }
  std::ranges::sort(result);
  return result;
}

TEST_CASE("docs: every command of the tutorial and the how-tos prints what the page shows") {
  for (const char* folder : {"tutorial", "how-to"}) {
    int commands = 0;
    for (const fs::path& page : pages(folder)) {
      CAPTURE(page.string());
      commands += follow(page);
    }
    CHECK(commands >= 4);
  }
}

}  // namespace
}  // namespace stagecraft
