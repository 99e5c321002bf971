#include "experiments/study/result_table.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <cctype>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace stagecraft {
namespace {

const std::vector<ResultColumn>& leading_columns() {
  static const std::vector<ResultColumn> columns = {{"cell", ColumnType::Whole},
                                                    {"key", ColumnType::Text},
                                                    {"status", ColumnType::Text},
                                                    {"message", ColumnType::Text},
                                                    {"seed", ColumnType::Whole}};
  return columns;
}

using ColumnIndex = std::unordered_map<std::string, std::size_t>;  ///< name to column

/// The column of each configuration key and of each figure. A key and a figure may have the same name; `tell_apart`
/// then renames the second column.
struct Layout {
  ColumnIndex keys;
  ColumnIndex figures;
};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Renames columns whose names a database takes for equal, because they differ only in case: of `x.A` and `x.a` the
/// second becomes `x.a (2)`.
void tell_apart(std::vector<ResultColumn>& columns) {
  std::unordered_set<std::string> taken;
  for (ResultColumn& column : columns) {
    const std::string name = column.name;
    for (int number = 2; !taken.insert(lower(column.name)).second; ++number) {
      column.name = name + " (" + std::to_string(number) + ")";
    }
  }
}

void add_key_columns(const Manifest& manifest, std::vector<ResultColumn>& columns, ColumnIndex& keys) {
  std::vector<std::optional<ColumnType>> types;
  const std::size_t first = columns.size();
  for (const StudyCell& cell : manifest.cells) {
    for (const auto& [name, value] : cell.cell.keys) {
      const auto [entry, is_new] = keys.try_emplace(name, columns.size());
      if (is_new) {
        columns.push_back({name, ColumnType::Any});
        types.emplace_back();
      }
      std::optional<ColumnType>& type = types[entry->second - first];
      type = widen(type, value);
    }
  }
  for (std::size_t i = 0; i < types.size(); ++i) columns[first + i].type = types[i].value_or(ColumnType::Any);
}

void add_figure_columns(std::vector<ResultColumn>& columns, ColumnIndex& figures) {
  for (const ResultColumn& figure : figure_columns()) {
    figures.emplace(figure.name, columns.size());
    columns.push_back(figure);
  }
}

void require_columns(const Row& row) {
  if (const auto misfit = find_misfit(row.figures)) {
    throw InternalError("the figure " + quote(*misfit) + " of the cell " + row.key + " fits no column of the results");
  }
}

std::vector<Detail> table_row(const Results& results, const CellResult& result, const Layout& layout,
                              std::size_t width) {
  const Cell& cell = results.cell(result);
  const Row& row = result.row;
  std::vector<Detail> values{static_cast<std::int64_t>(result.index), row.key, to_string(row.status), row.message,
                             static_cast<std::int64_t>(cell.seed)};
  STAGECRAFT_CHECK(values.size() == leading_columns().size(), "a value for each leading column");
  values.resize(width);
  for (const auto& [name, value] : cell.keys) values[layout.keys.at(name)] = value;
  for (const auto& [name, value] : row.figures) values[layout.figures.at(name)] = value;
  return values;
}

}  // namespace

ResultTable result_table(const Results& results) {
  ResultTable table{.columns = leading_columns(), .row_count = results.rows.size(), .row = {}};
  Layout layout;
  add_key_columns(results.manifest, table.columns, layout.keys);
  add_figure_columns(table.columns, layout.figures);
  tell_apart(table.columns);
  for (const CellResult& result : results.rows) require_columns(result.row);
  table.row = [&results, layout = std::move(layout), width = table.columns.size()](std::size_t i) {
    return table_row(results, results.rows[i], layout, width);
  };
  return table;
}

ResultTable timing_table(const Results& results) {
  const auto make_row = [&results](std::size_t i) -> std::vector<Detail> {
    const Row& row = results.rows[i].row;
    const auto timing = [&](const char* name) {
      const Detail* value = find_key(row.timings, name);
      return value == nullptr ? Detail() : *value;
    };
    return {row.key, timing("planning_time_s"), timing("wall_time_s")};
  };
  return {
      .columns = {{"key", ColumnType::Text}, {"planning_time_s", ColumnType::Real}, {"wall_time_s", ColumnType::Real}},
      .row_count = results.rows.size(),
      .row = make_row};
}

}  // namespace stagecraft
