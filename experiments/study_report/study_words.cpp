#include "experiments/study_report/study_words.hpp"

#include "experiments/study/row_figures.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stagecraft {
namespace {

/// The ending of a figure's name that gives its unit; headings leave it out.
std::string_view unit_of(FigureKind kind) {
  switch (kind) {
    case FigureKind::Size: return "_bytes";
    case FigureKind::Time: return "_s";
    case FigureKind::Rate: return "_samples_per_s";
    default: return "";
  }
}

/// The kind of a figure. Figures of the planner's own (`details.NAME`) are not in the table of figures; the ending of
/// their name gives the kind.
FigureKind kind_of(std::string_view name) {
  if (const FigureInfo* figure = find_figure(name)) return figure->kind;
  if (name.ends_with("_bytes")) return FigureKind::Size;
  if (name.ends_with("_s")) return FigureKind::Time;
  return name.ends_with("_ratio") ? FigureKind::Ratio : FigureKind::Number;
}

}  // namespace

std::string value_text(const Detail& value) {
  if (const auto* word = std::get_if<std::string>(&value.value)) return *word;
  return value == Detail() ? "-" : to_json(value, -1);
}

std::string status_text(CellStatus status) {
  std::string text = to_string(status);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string counts_text(const CellCounts& counts) {
  std::string text;
  for (const auto& [status, count] : counts.ended) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, status_text(status));
  }
  if (counts.not_run > 0) text += fmt::format("{}{} not run", text.empty() ? "" : ", ", counts.not_run);
  return text;
}

std::string ratio_text(double ratio) { return fmt::format("{:.3f}", ratio); }

std::string bytes_text(std::int64_t bytes) { return format_human_bytes(Bytes(bytes)); }

std::string column_heading(std::string name) {
  const std::string_view unit = unit_of(kind_of(name));
  if (name.starts_with("details.")) name.erase(0, name.find('.') + 1);
  name.erase(name.size() - unit.size());
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string figure_text(const std::string& column, const Detail& value) {
  if (const auto* truth = std::get_if<bool>(&value.value)) return *truth ? "yes" : "no";
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  const auto* real = std::get_if<double>(&value.value);
  if (whole == nullptr && real == nullptr) return value_text(value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
  if (column == kLoadRatio) return ratio_text(number);
  switch (kind_of(column)) {
    case FigureKind::Size: return bytes_text(static_cast<std::int64_t>(std::llround(number)));
    case FigureKind::Time: return format_human_seconds(Seconds(number));
    case FigureKind::Ratio: return percent(number);
    case FigureKind::Rate: return short_number(number) + " samples/s";
    case FigureKind::Flag: return number != 0.0 ? "yes" : "no";
    default: return whole != nullptr ? std::to_string(*whole) : short_number(number);
  }
}

std::string short_key(const std::string& key, const std::vector<std::string>& keys) {
  const std::string last = key.substr(key.rfind('.') + 1);
  const auto ends_so = [&](const std::string& other) { return other == last || other.ends_with("." + last); };
  return std::ranges::count_if(keys, ends_so) == 1 ? last : key;
}

std::string keys_text(const Keys& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text += (text.empty() ? "" : ", ") + key + " " + value_text(value);
  return text;
}

}  // namespace stagecraft
