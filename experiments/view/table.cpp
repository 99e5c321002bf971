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

void append_row(std::string& text, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                const Table& table) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - width_of(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += table.is_left(i) ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

std::string to_text(const Table& table) {
  std::vector<std::size_t> widths(table.header.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    STAGECRAFT_CHECK(cells.size() == widths.size(), "a row has as many cells as the header");
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  };
  widen(table.header);
  for (const std::vector<std::string>& row : table.rows) widen(row);
  std::string text;
  append_row(text, table.header, widths, table);
  for (const std::vector<std::string>& row : table.rows) append_row(text, row, widths, table);
  return text;
}

std::string time_or_dash(const std::optional<Seconds>& value) { return value ? format_human_seconds(*value) : "-"; }

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100.0 * ratio); }

std::string signed_percent(double ratio) {
  return std::abs(ratio) < 0.0005 ? percent(0.0) : fmt::format("{:+.1f} %", 100.0 * ratio);
}

std::string short_number(double value) {
  if (std::abs(value) >= 999.5) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace stagecraft
