#include "tests/lint/source_tree.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace stagecraft::lint {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 13> kFolders = {"sim",       "planners", "experiments", "tests", "validation",
                                                       "platforms", "traces",   "docs",        "cmake", ".ci",
                                                       "examples",  "web/src",  "web/test"};
constexpr std::array<std::string_view, 13> kExtensions = {".cpp", ".hpp", ".md", ".cmake", ".txt", ".yaml", ".json",
                                                          ".sh",  ".csv", ".in", ".ts",    ".mjs", ".css"};
constexpr std::array<std::string_view, 2> kLeftOut = {"tests/vectors/", "tests/golden/"};

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

template <std::size_t N>
bool is_one_of(const std::string& text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_script(const fs::path& path) { return path.extension().empty() && read(path).starts_with("#!"); }

bool is_wanted(const std::string& path, const fs::path& full) {
  const bool left_out =
      std::any_of(kLeftOut.begin(), kLeftOut.end(), [&](std::string_view folder) { return path.starts_with(folder); });
  return !left_out && (is_one_of(full.extension().string(), kExtensions) || is_script(full));
}

}  // namespace

SourceFile as_file(const std::string& path, const std::string& text) {
  SourceFile file{path, {}, text.empty() || text.back() == '\n'};
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

std::vector<SourceFile> read_tree(const std::string& root) {
  std::vector<SourceFile> files;
  const auto add = [&](const fs::directory_entry& entry) {
    const std::string path = fs::relative(entry.path(), root).generic_string();
    if (entry.is_regular_file() && is_wanted(path, entry.path())) files.push_back(as_file(path, read(entry.path())));
  };
  for (const auto& entry : fs::directory_iterator(root)) add(entry);
  for (std::string_view folder : kFolders) {
    const fs::path start = fs::path(root) / folder;
    if (!fs::exists(start)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(start)) add(entry);
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

bool is_header(const SourceFile& file) { return file.path.ends_with(".hpp"); }
bool is_code(const SourceFile& file) { return is_header(file) || file.path.ends_with(".cpp"); }
bool is_document(const SourceFile& file) { return file.path.ends_with(".md"); }

std::string to_string(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += violation.path + ":" + std::to_string(violation.line) + ": " + violation.message + "\n";
  }
  return text;
}

}  // namespace stagecraft::lint
