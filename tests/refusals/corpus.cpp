#include "tests/refusals/corpus.hpp"

#include "tests/paths.hpp"

#include <algorithm>
#include <cctype>
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

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string beginning(const std::string& message) {
  const std::string line = message.substr(0, message.find('\n'));
  if (!line.ends_with(')')) return line;
  int open = 0;
  for (std::size_t at = line.size(); at-- > 1;) {
    if (line[at] == ')') ++open;
    if (line[at] == '(') --open;
    if (open == 0) return line[at - 1] == ' ' ? line.substr(0, at - 1) : line;
  }
  return line;
}

bool lists_names(const std::string& text) { return text.find("known:") != std::string::npos; }

bool is_kept(const std::string& expectation, const std::string& message) {
  if (expectation.empty() || lists_names(expectation) || !message.starts_with(expectation)) return false;
  const auto is_in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return message.size() == expectation.size() || !is_in_word(expectation.back()) ||
         !is_in_word(message[expectation.size()]);
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

std::string with_places(const std::string& said, const fs::path& out) {
  return replaced(replaced(said, out.string(), "@out"), vectors().string(), "@");
}

}  // namespace stagecraft::refusals
