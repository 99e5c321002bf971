#include "tests/lint/text_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <regex>
#include <string>

namespace stagecraft::lint {
namespace {

constexpr std::size_t kMaxLines = 400;
constexpr std::ptrdiff_t kMaxCharacters = 120;  ///< as in .clang-format, which leaves comments and literals alone

/// Files that may be longer, each with the page that says why.
const std::map<std::string, std::string>& length_exceptions() {
  static const std::map<std::string, std::string> table = {};
  return table;
}

struct Word {
  std::string pattern;
  std::string where;  ///< regular expression of the files it is refused in
  std::string message;
};

const std::vector<Word>& refused_words() {
  static const std::vector<Word> table = {
      {R"(\b(std::views::|ranges::views|views::(filter|transform|iota|zip|take|drop)))", R"((?!tests/lint/).*)",
       "no view pipelines; an algorithm or a loop"},
      {R"(\b(class|struct)\s+\w*(Manager|Handler|Helper|Util|Utils|Impl)\b)", R"((?!tests/lint/).*)",
       "name the type after what it is"},
      {R"(\busing\s+namespace\b)", R"((sim|planners|experiments)/.*)", "no using-directives outside tests"},
      {R"(^\s*typedef\b)", R"(.*)", "using, not typedef"},
      {R"((\bstd::(cout|cerr|clog)\b|\bprintf\s*\(|\bstd::(exit|abort|terminate)\s*\())", R"((sim|planners)/.*)",
       "nothing prints and nothing exits below experiments"},
  };
  return table;
}

/// The characters of UTF-8 text: its bytes without those that continue a character.
std::ptrdiff_t characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

}  // namespace

std::vector<Violation> check_whitespace(const SourceFile& file) {
  std::vector<Violation> violations;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    const int number = static_cast<int>(i) + 1;
    if (line.find('\t') != std::string::npos) violations.push_back({file.path, number, "tab"});
    if (line.find('\r') != std::string::npos) violations.push_back({file.path, number, "carriage return"});
    if (line.ends_with(' ')) violations.push_back({file.path, number, "blank at the end of the line"});
  }
  if (!file.ends_with_newline) violations.push_back({file.path, 0, "no newline at the end of the file"});
  return violations;
}

std::vector<Violation> check_pragma_once(const SourceFile& file) {
  if (!is_header(file) || (!file.lines.empty() && file.lines.front() == "#pragma once")) return {};
  return {{file.path, 1, "a header starts with #pragma once"}};
}

std::vector<Violation> check_length(const SourceFile& file) {
  if (!is_code(file) || file.lines.size() <= kMaxLines || length_exceptions().contains(file.path)) return {};
  return {{file.path, 0,
           std::to_string(file.lines.size()) + " lines, more than " + std::to_string(kMaxLines) +
               ": split it or write an ADR"}};
}

std::vector<Violation> check_width(const SourceFile& file) {
  std::vector<Violation> violations;
  if (!is_code(file)) return violations;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::ptrdiff_t count = characters(file.lines[i]);
    if (count <= kMaxCharacters) continue;
    violations.push_back({file.path, static_cast<int>(i) + 1,
                          std::to_string(count) + " characters, more than " + std::to_string(kMaxCharacters) +
                              ": wrap the comment or divide the literal"});
  }
  return violations;
}

std::vector<Violation> check_words(const SourceFile& file) {
  std::vector<Violation> violations;
  if (!is_code(file)) return violations;
  for (const Word& word : refused_words()) {
    if (!std::regex_match(file.path, std::regex(word.where))) continue;
    const std::regex pattern(word.pattern);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(without_comment(file.lines[i]), pattern)) {
        violations.push_back({file.path, static_cast<int>(i) + 1, word.message});
      }
    }
  }
  return violations;
}

std::vector<Violation> check_data(const SourceFile& file) {
  if (!file.path.starts_with("traces/") && !file.path.starts_with("platforms/")) return {};
  if (is_code(file)) return {{file.path, 0, "this folder holds data only"}};
  if (!file.path.ends_with(".yaml")) return {};
  static const std::regex pattern(R"(\s*(#\s*)?[Ss]ources?:\s*\S.*)");
  const bool told = std::any_of(file.lines.begin(), file.lines.end(),
                                [](const std::string& line) { return std::regex_match(line, pattern); });
  if (told) return {};
  return {{file.path, 0, "no 'source:' line says where the numbers come from"}};
}

}  // namespace stagecraft::lint
