#include "tests/lint/links.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>

namespace stagecraft::lint {
namespace {

namespace fs = std::filesystem;

/// The lines with code blocks emptied and code spans removed.
std::vector<std::string> prose_of(const std::vector<std::string>& lines) {
  static const std::regex span("`[^`]*`");
  std::vector<std::string> prose;
  bool in_code = false;
  for (const std::string& line : lines) {
    const bool fence =
        line.find_first_not_of(' ') != std::string::npos && line.substr(line.find_first_not_of(' ')).starts_with("```");
    prose.push_back(fence || in_code ? "" : std::regex_replace(line, span, ""));
    if (fence) in_code = !in_code;
  }
  return prose;
}

std::vector<std::string> targets_in(const std::string& line) {
  static const std::regex pattern(R"(\]\(\s*<?([^)\s>]+)>?[^)]*\))");
  std::vector<std::string> targets;
  for (std::sregex_iterator it(line.begin(), line.end(), pattern), end; it != end; ++it) targets.push_back((*it)[1]);
  return targets;
}

bool leaves_the_repository(const std::string& target) {
  static const std::regex scheme("[a-z][a-z0-9+.-]*:.*");
  return std::regex_match(target, scheme);
}

bool has_heading(const fs::path& path, const std::string& anchor) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  bool in_code = false;
  for (const std::string& line : as_file(path.string(), text.str()).lines) {
    if (line.starts_with("```")) in_code = !in_code;
    const std::size_t level = line.find_first_not_of('#');
    if (in_code || level == 0 || level == std::string::npos || line[level] != ' ') continue;
    if (anchor_of(line.substr(level + 1)) == anchor) return true;
  }
  return false;
}

std::optional<std::string> refuse(const SourceFile& file, const std::string& target, const fs::path& root) {
  if (target.starts_with("/")) return "links are relative";
  const std::size_t hash = target.find('#');
  const std::string path = target.substr(0, hash);
  const fs::path full = (path.empty() ? root / file.path : (root / file.path).parent_path() / path).lexically_normal();
  if (fs::relative(full, root).generic_string().starts_with("..")) return "leaves the repository";
  if (!fs::exists(full)) return "no such file";
  if (hash != std::string::npos && !has_heading(full, target.substr(hash + 1))) return "no such heading";
  return std::nullopt;
}

}  // namespace

std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

std::vector<Violation> check_links(const SourceFile& file, const std::string& root) {
  std::vector<Violation> violations;
  if (!is_document(file)) return violations;
  const std::vector<std::string> prose = prose_of(file.lines);
  for (std::size_t i = 0; i < prose.size(); ++i) {
    for (const std::string& target : targets_in(prose[i])) {
      if (leaves_the_repository(target)) continue;
      if (const auto refusal = refuse(file, target, root)) {
        violations.push_back({file.path, static_cast<int>(i) + 1, "link to " + target + ": " + *refusal});
      }
    }
  }
  return violations;
}

}  // namespace stagecraft::lint
