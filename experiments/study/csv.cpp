#include "experiments/study/csv.hpp"

#include "sim/io/json.hpp"

#include <cmath>
#include <string_view>

namespace stagecraft {
namespace {

/// Whether a text needs quotes. Texts that begin or end with a blank get them too, because some readers drop such
/// blanks.
bool needs_quotes(std::string_view text) {
  if (text.empty()) return false;
  return text.find_first_of(",\"\r\n") != std::string_view::npos || text.front() == ' ' || text.back() == ' ';
}

void append_text(std::string_view text, std::string& into) {
  if (!needs_quotes(text)) {
    into += text;
    return;
  }
  into += '"';
  for (const char c : text) {
    if (c == '"') into += '"';
    into += c;
  }
  into += '"';
}

bool is_absent(const Detail& value) {
  const auto* number = std::get_if<double>(&value.value);
  return std::holds_alternative<std::nullptr_t>(value.value) || (number != nullptr && !std::isfinite(*number));
}

void append_value(const Detail& value, std::string& into) {
  if (is_absent(value)) return;
  if (const auto* text = std::get_if<std::string>(&value.value)) {
    append_text(*text, into);
  } else {
    append_text(to_json(value, -1), into);
  }
}

}  // namespace

std::string to_csv(const ResultTable& table) {
  std::string text;
  for (const ResultColumn& column : table.columns) {
    if (&column != &table.columns.front()) text += ',';
    append_text(column.name, text);
  }
  text += '\n';
  for (std::size_t i = 0; i < table.row_count; ++i) {
    const std::vector<Detail> row = table.row(i);
    for (const Detail& value : row) {
      if (&value != &row.front()) text += ',';
      append_value(value, text);
    }
    text += '\n';
  }
  return text;
}

}  // namespace stagecraft
