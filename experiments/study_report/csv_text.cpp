#include "experiments/study_report/csv_text.hpp"

#include "experiments/study/row.hpp"
#include "experiments/study/study.hpp"
#include "sim/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace stagecraft {
namespace {

std::string csv_field(const Detail& value) {
  if (value == Detail()) return "";
  const auto* word = std::get_if<std::string>(&value.value);
  std::string text = word == nullptr ? to_json(value, -1) : *word;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

bool counts_cells(const std::string& column) {
  const auto is_status = [&](CellStatus status) { return column == to_string(status); };
  return column == "not_run" || std::ranges::any_of(all_statuses(), is_status);
}

bool is_left_out(const std::string& column, const std::vector<Detail::Record>& lines) {
  return std::ranges::all_of(lines, [&](const Detail::Record& line) {
    const Detail* value = find_key(line, column);
    if (value == nullptr || *value == Detail()) return true;
    return counts_cells(column) && *value == Detail(0);
  });
}

}  // namespace

Detail rounded(Detail value) {
  if (auto* real = std::get_if<double>(&value.value)) {
    constexpr double kLeast = 1e-12;  // errors of claims that differ by rounding are smaller
    if (std::isfinite(*real)) *real = std::strtod(fmt::format("{:.6g}", *real).c_str(), nullptr);
    if (std::abs(*real) < kLeast) *real = 0.0;
  } else if (auto* list = std::get_if<Detail::List>(&value.value)) {
    for (Detail& item : *list) item = rounded(std::move(item));
  } else if (auto* record = std::get_if<Detail::Record>(&value.value)) {
    for (auto& [name, item] : *record) item = rounded(std::move(item));
  }
  return value;
}

std::string csv_text(std::vector<std::string> columns, const std::vector<Detail::Record>& lines) {
  for (const Detail::Record& line : lines) {
    for (const auto& [name, value] : line) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
  }
  std::erase_if(columns, [&](const std::string& column) { return is_left_out(column, lines); });
  std::string text;
  const auto append = [&](const auto& field_of) {
    for (std::size_t i = 0; i < columns.size(); ++i) text += (i == 0 ? "" : ",") + field_of(columns[i]);
    text += '\n';
  };
  append([](const std::string& column) { return csv_field(column); });
  for (const Detail::Record& line : lines) {
    append([&](const std::string& column) {
      const Detail* value = find_key(line, column);
      return value == nullptr ? std::string() : csv_field(*value);
    });
  }
  return text;
}

}  // namespace stagecraft
