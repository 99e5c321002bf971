#include "experiments/view/table.hpp"

#include "experiments/view/text_width.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace stagecraft {
namespace {

constexpr std::size_t kColumnGap = 2;

/// Positions of the columns that stand beside one another.
using TablePart = std::vector<std::size_t>;

void append_row(std::string& text, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                const Table& table, const TablePart& part) {
  std::string line;
  for (const std::size_t i : part) {
    const std::string padding(widths[i] - width_of(cells[i]), ' ');
    if (i != part.front()) line += std::string(kColumnGap, ' ');
    line += table.is_left(i) ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

/// As few parts as possible, each with the first column and at least one other.
std::vector<TablePart> parts_of(const std::vector<std::size_t>& widths, const std::optional<std::size_t>& columns) {
  std::vector<TablePart> parts{{0}};
  std::size_t used = widths.front();
  for (std::size_t i = 1; i < widths.size(); ++i) {
    if (columns && parts.back().size() > 1 && used + kColumnGap + widths[i] > *columns) {
      parts.push_back({0});
      used = widths.front();
    }
    parts.back().push_back(i);
    used += kColumnGap + widths[i];
  }
  return parts;
}

}  // namespace

std::string to_text(const Table& table, const std::optional<std::size_t>& columns) {
  std::vector<std::size_t> widths(table.header.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    STAGECRAFT_CHECK(cells.size() == widths.size(), "a row has as many cells as the header");
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  };
  widen(table.header);
  for (const std::vector<std::string>& row : table.rows) widen(row);
  std::string text;
  for (const TablePart& part : parts_of(widths, columns)) {
    if (!text.empty()) text += '\n';
    append_row(text, table.header, widths, table, part);
    for (const std::vector<std::string>& row : table.rows) append_row(text, row, widths, table, part);
  }
  return text;
}

std::string to_text(const Table& table) { return to_text(table, screen_columns()); }

std::string time_or_dash(const std::optional<Seconds>& value) { return value ? format_human_seconds(*value) : "-"; }

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100.0 * ratio); }

std::string signed_percent(double ratio) {
  return std::abs(ratio) < 0.0005 ? percent(0.0) : fmt::format("{:+.1f} %", 100.0 * ratio);
}

}  // namespace stagecraft
