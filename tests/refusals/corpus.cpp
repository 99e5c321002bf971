#include "tests/refusals/corpus.hpp"

#include "tests/paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace stagecraft::refusals {

namespace fs = std::filesystem;

fs::path vectors() { return fs::path(STAGECRAFT_SOURCE_DIR) / "tests/vectors"; }

std::string raw(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> files_of(const std::string& folder, const std::string& prefix) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(vectors() / folder)) {
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> promises(const fs::path& path, const std::string& mark) {
  const std::string start = "# " + mark + ": ";
  std::vector<std::string> found;
  for (const std::string& line : lines_of(raw(path))) {
    if (!line.starts_with("#")) break;
    if (line.starts_with(start)) found.push_back(line.substr(start.size()));
  }
  return found;
}

std::vector<std::string> split(const std::string& command, const fs::path& out) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool begun = false;
  for (const char c : command + " ") {
    if (c == '\'') {
      quoted = !quoted;
      begun = true;
    } else if (c != ' ' || quoted) {
      word += c;
      begun = true;
    } else if (begun) {
      words.push_back(std::move(word));
      word.clear();
      begun = false;
    }
  }
  for (std::string& each : words) {
    for (std::size_t at = each.find('@'); at != std::string::npos; at = each.find('@', at + 1)) {
      const std::string_view rest = std::string_view(each).substr(at);
      if (at > 0 && std::string_view("=:,").find(each[at - 1]) == std::string_view::npos) continue;
      if (rest.starts_with("@out/")) {
        each.replace(at, 4, out.string());
      } else if (rest.starts_with("@/")) {
        each.replace(at, 1, vectors().string());
      }
    }
  }
  return words;
}

}  // namespace stagecraft::refusals
