#include "experiments/study_report/table_section.hpp"

#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/study_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

std::string mean_words(MeanKind mean) {
  switch (mean) {
    case MeanKind::Geometric: return "Geometric means of ";
    case MeanKind::Arithmetic: return "Arithmetic means of ";
    case MeanKind::Smallest: return "Smallest ";
    case MeanKind::Largest: return "Largest ";
  }
  return {};
}

std::string figure_words(const TableChoice& choice) {
  if (choice.value == kSpeedUp) return "samples/s";
  if (choice.value == kRegret) return "the best samples/s of the group over the planner's";
  if (choice.value == kLoadRatio) return "iteration time over load";
  return column_heading(choice.value);
}

bool is_partial(const TableCell& cell) { return cell.used < cell.counts.total(); }

bool any_partial(const CrossTable& table) {
  return std::ranges::any_of(table.cells, [](const auto& row) { return std::ranges::any_of(row, is_partial); });
}

std::vector<std::string> sentences(const CrossTable& table) {
  const TableChoice& choice = table.choice;
  std::string text = "How the cells ended.";
  if (choice.value != kOutcome) {
    text = mean_words(choice.mean) + figure_words(choice);
    if (table.over) text += " over that of the cell with " + keys_text(*table.over);
    text += ".";
    if (any_partial(table)) {
      text += fmt::format(" (n of m): n of m cells are ok{}; the others are left out.",
                          table.over ? ", and so is the cell by which they are divided" : "");
    }
  }
  if (!choice.where.empty()) text += " Only cells with " + keys_text(choice.where) + ".";
  std::vector<std::string> result{std::move(text)};
  if (!table.several.empty()) {
    result.push_back(fmt::format("Note: {} fits {} planners; the first of them is used: {}", keys_text(*table.over),
                                 table.several.size(), table.several.front()));
  }
  return result;
}

std::string cell_text(const CrossTable& table, const TableCell& cell) {
  if (cell.counts.total() == 0) return "";
  if (table.choice.value == kOutcome) return counts_text(cell.counts);
  std::string text = "-";
  if (cell.mean)
    text = table.over || is_ratio(table.choice) ? ratio_text(*cell.mean) : figure_text(table.choice.value, *cell.mean);
  return is_partial(cell) ? text + fmt::format(" ({} of {})", cell.used, cell.counts.total()) : text;
}

std::vector<std::string> cell_texts(const CrossTable& table, const std::vector<TableCell>& cells) {
  std::vector<std::string> texts;
  for (const TableCell& cell : cells) texts.push_back(cell_text(table, cell));
  return texts;
}

Detail::Record cell_record(const Keys& row, const Keys& column, const TableCell& cell) {
  Detail::Record keys = row;
  for (const auto& [key, value] : column) set_key(keys, key, value);
  Detail::Record cells{{"cells", static_cast<std::int64_t>(cell.counts.total())}};
  for (const CellStatus status : all_statuses()) {
    cells.emplace_back(to_string(status), static_cast<std::int64_t>(cell.counts.of(status)));
  }
  cells.emplace_back("not_run", static_cast<std::int64_t>(cell.counts.not_run));
  Detail::Record record{{"keys", std::move(keys)},
                        {"value", cell.mean ? Detail(*cell.mean) : Detail()},
                        {"used", static_cast<std::int64_t>(cell.used)}};
  for (auto& entry : cells) record.push_back(std::move(entry));
  return record;
}

}  // namespace

std::string table_heading(const CrossTable& table) {
  const TableChoice& choice = table.choice;
  if (!choice.title.empty()) return choice.title;
  std::string text = choice.value == kSpeedUp ? "speed-up" : column_heading(choice.value);
  if (choice.over) text += " over that of " + keys_text(*choice.over);
  if (!choice.where.empty()) text += ", " + keys_text(choice.where);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string column_text(const Keys& column, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& [key, value] : column) {
    text += text.empty() ? "" : ", ";
    if (key != "planner") text += short_key(key, names) + " ";
    text += value_text(value);
  }
  return text;
}

Section table_section(const CrossTable& table) {
  const TableChoice& choice = table.choice;
  Section section;
  section.heading = table_heading(table);
  section.sentences = sentences(table);
  Table& shown = section.table.emplace(Table{{}, {}, choice.rows.size(), false});
  for (const std::string& key : choice.rows) shown.header.push_back(short_key(key, choice.rows));
  for (const Keys& column : table.columns) shown.header.push_back(column_text(column, choice.columns));
  const auto add = [&](std::vector<std::string> row, const std::vector<TableCell>& cells) {
    for (std::string& text : cell_texts(table, cells)) row.push_back(std::move(text));
    shown.rows.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<std::string> row;
    for (const auto& [key, value] : table.rows[i]) row.push_back(value_text(value));
    add(std::move(row), table.cells[i]);
  }
  if (table.rows.size() < 2) return section;
  std::vector<std::string> all(choice.rows.size());
  all.front() = "all";
  section.strong_rows.insert(shown.rows.size());
  add(std::move(all), table.all);
  return section;
}

Detail::List table_places(const CrossTable& table) {
  Detail::List cells;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      if (table.cells[i][j].counts.total() == 0) continue;
      cells.emplace_back(cell_record(table.rows[i], table.columns[j], table.cells[i][j]));
    }
  }
  return cells;
}

Detail::Record table_record(const CrossTable& table) {
  const TableChoice& choice = table.choice;
  return {{"title", table_heading(table)},  {"value", choice.value},
          {"mean", to_string(choice.mean)}, {"over", table.over ? Detail(*table.over) : Detail()},
          {"where", choice.where},          {"cells", table_places(table)}};
}

}  // namespace stagecraft
