#include "sim/io/text_words.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

std::vector<TextWord> words_of_line(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<TextWord> words;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back({std::string(line.substr(begin, end - begin)), static_cast<int>(begin) + 1});
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace

TextLines::TextLines(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

bool TextLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    words_ = words_of_line(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (!words_.empty()) return true;
  }
  return false;
}

InputPlace TextLines::place(int column, const std::string& key) const { return {file_, number_, column, key}; }

}  // namespace stagecraft
