#include "sim/io/schedule_csv_text.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::string_view kDigits = "0123456789";

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::uint32_t> whole_number(std::string_view text, std::int64_t most) {
  const auto parsed = parse_count(text);
  if (!parsed || *parsed.value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*parsed.value);
}

std::string known_code_hint(std::string_view code) {
  std::vector<std::string> known;
  for (const CsvKind& kind : kCsvKinds) known.emplace_back(kind.code);
  return suggest_name(code, known);
}

}  // namespace

CsvText::CsvText(std::string_view text, std::string file_name) : file_(std::move(file_name)) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    add_row(line);
    begin = end + 1;
  }
  if (rows_.empty()) throw InputError("expected a row of operations for each rank, found none", {file_, 0, 0, ""});
}

void CsvText::fail(std::size_t rank, const std::string& message, const std::string& hint) const {
  throw InputError(message, {file_, static_cast<int>(rank + 1), 0, "rank " + std::to_string(rank)}, hint);
}

void CsvText::fail(std::size_t rank, std::size_t step, const std::string& message, const std::string& hint) const {
  throw InputError(
      message,
      {file_, static_cast<int>(rank + 1), 0, "rank " + std::to_string(rank) + ", step " + std::to_string(step)}, hint);
}

void CsvText::fail_here(const std::string& message, const std::string& hint) const {
  fail(rows_.size() - 1, rows_.back().size(), message, hint);
}

void CsvText::add_row(std::string_view line) {
  rows_.emplace_back();
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    CsvField field = read_field(without_blanks(line.substr(begin, end - begin)));
    rows_.back().push_back(std::move(field));
    begin = end + 1;
  }
}

CsvField CsvText::read_field(std::string_view text) const {
  if (text.empty()) return {};
  if (text.starts_with('(')) return read_pair(text);
  return {{read_operation(text)}};
}

CsvField CsvText::read_pair(std::string_view text) const {
  const std::string expected = "expected a pair such as '(0F3;3B1)OVERLAP_F_B', of a forward and a whole backward";
  const std::size_t semicolon = text.find(';');
  const std::size_t close = text.find(')');
  if (semicolon == std::string_view::npos || close == std::string_view::npos || close < semicolon ||
      text.substr(close + 1) != kCsvPair) {
    fail_here(expected + ", found " + quote(text));
  }
  CsvField field{{read_operation(text.substr(1, semicolon - 1)),
                  read_operation(without_blanks(text.substr(semicolon + 1, close - semicolon - 1)))}};
  const bool is_pair = field.operations[0].kind == csv_kind("F") && field.operations[1].kind == csv_kind("B");
  if (!is_pair) fail_here(expected + ", found " + quote(text));
  return field;
}

CsvOperation CsvText::read_operation(std::string_view text) const {
  const auto refuse = [&]() {
    fail_here("expected an operation such as '0F3', made of a stage, a kind and a microbatch, found " + quote(text));
  };
  const std::size_t begin = text.find_first_not_of(kDigits);
  if (begin == 0 || begin == std::string_view::npos) refuse();
  const std::size_t end = std::min(text.find_first_of(kDigits, begin), text.size());
  const std::string_view code = text.substr(begin, end - begin);
  const std::size_t kind = csv_kind(code);
  if (kind == kCsvKinds.size()) fail_here("unknown kind of operation " + quote(code), known_code_hint(code));
  const auto stage = whole_number(text.substr(0, begin), kMostStages);
  if (!stage) refuse();
  if (kCsvKinds.at(kind).work == CsvWork::Mark) {
    if (end < text.size()) fail_here("expected no microbatch behind " + std::string(code) + ", found " + quote(text));
    return {kind, *stage, 0};
  }
  const auto microbatch = whole_number(text.substr(end), kMostMicrobatches);
  if (!microbatch) refuse();
  return {kind, *stage, *microbatch};
}

}  // namespace stagecraft
