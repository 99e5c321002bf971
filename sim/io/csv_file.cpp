#include "sim/io/csv_file.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.emplace_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return fields;
}

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file_name) : file_(std::move(file_name)) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  int number = 0;
  for (std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (!line.empty() && line.front() != '#') add_line(line, number);
  }
  if (lines_.empty()) throw InputError("expected a line with the names of the columns, and rows", {file_, 0, 0, ""});
}

void CsvTable::add_line(std::string_view line, int number) {
  if (line.find('"') != std::string_view::npos) {
    throw InputError("quoted fields are not supported", {file_, number, 0, ""});
  }
  std::vector<std::string> fields = fields_of(line);
  if (columns_.empty()) {
    columns_ = std::move(fields);
    return;
  }
  if (fields.size() != columns_.size()) {
    throw InputError("expected " + counted(columns_.size(), "field") + ", found " + std::to_string(fields.size()),
                     {file_, number, 0, ""});
  }
  std::ranges::move(fields, std::back_inserter(fields_));
  lines_.push_back(number);
}

std::size_t CsvTable::column(const std::string& name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  throw InputError("no column is called " + quote(name), {file_, 0, 0, ""}, suggest_name(name, columns_));
}

InputPlace CsvTable::place(std::size_t row, std::size_t column) const {
  return {file_, lines_[row], 0, columns_[column]};
}

}  // namespace stagecraft
