// Reads the part of a study file that describes the tables of its report.
#include "experiments/study/table_file.hpp"

#include "experiments/study/cell_keys.hpp"
#include "experiments/study/result_columns.hpp"
#include "experiments/study/row_figures.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <string_view>

namespace stagecraft {
namespace {

std::vector<std::string> read_cell_keys(const YamlNode& node) {
  if (node.kind() == YamlKind::Text) return {read_cell_key_name(node)};
  std::vector<std::string> keys;
  for (const YamlNode& item : node.items()) {
    std::string key = read_cell_key_name(item);
    if (std::ranges::find(keys, key) != keys.end()) item.fail("the key " + quote(key) + " is given twice");
    keys.push_back(std::move(key));
  }
  if (keys.empty()) node.fail("expected at least one key, found none");
  return keys;
}

MeanKind read_mean(const YamlNode& node) {
  const auto mean = find_mean(node.text());
  if (!mean) {
    node.fail("unknown value " + quote(node.text()),
              suggest_name(node.text(), {"geometric", "arithmetic", "smallest", "largest"}));
  }
  return *mean;
}

std::string read_value(const YamlNode& node, bool has_baseline) {
  if (node.text() == kOutcome || node.text() == kRegret) return node.text();
  if (node.text() == kSpeedUp) {
    if (!has_baseline) node.fail("speed_up needs a baseline, but the study has none", "add 'baseline'");
    return node.text();
  }
  std::string name = read_figure(node);
  const auto column = std::ranges::find(figure_columns(), name, &ResultColumn::name);
  const auto has_no_mean = [](const ResultColumn& of) { return of.type == ColumnType::Text || of.name == kRestsOn; };
  if (column != figure_columns().end() && has_no_mean(*column)) {
    node.fail("the figure " + quote(name) + " is not a number", "a table shows means; use 'columns' to show words");
  }
  return name;
}

TableChoice read_table(const YamlNode& node, bool has_baseline, const ReadPattern& read_pattern) {
  node.allow_keys({"title", "rows", "columns", "value", "mean", "over", "where"});
  TableChoice table;
  if (const auto title = node.find("title")) table.title = read_name(*title);
  table.rows = read_cell_keys(node.at("rows"));
  const auto columns = node.find("columns");
  table.columns = columns ? read_cell_keys(*columns) : std::vector<std::string>{"planner"};
  table.value = read_value(node.at("value"), has_baseline);
  if (const auto over = node.find("over")) {
    if (table.value == kSpeedUp) over->fail("speed_up is already a ratio to the study's baseline");
    if (table.value == kRegret) over->fail("regret is already a ratio to the best of the group");
    if (table.value == kOutcome) over->fail("outcome counts cells and cannot be divided");
    table.over = read_pattern(*over);
  }
  if (const auto where = node.find("where")) table.where = read_pattern(*where);
  const auto mean = node.find("mean");
  if (mean && table.value == kOutcome) mean->fail("outcome counts cells and has no mean");
  table.mean = mean ? read_mean(*mean) : is_ratio(table) ? MeanKind::Geometric : MeanKind::Arithmetic;
  return table;
}

}  // namespace

std::string read_figure(const YamlNode& node) {
  std::vector<std::string> known{std::string(kLoadRatio)};
  for (const ResultColumn& column : figure_columns()) {
    if (column.type != ColumnType::Json || column.name == kRestsOn) known.push_back(column.name);
  }
  std::string name = read_text(node);
  const bool is_detail = name.starts_with("details.") && name.size() > std::string_view("details.").size();
  if (!is_detail && std::ranges::find(known, name) == known.end()) {
    node.fail("there is no figure " + quote(name),
              "write details.NAME for a figure of the planner's own; " + suggest_name(name, known));
  }
  return name;
}

std::vector<TableChoice> read_tables(const YamlNode& node, bool has_baseline, const ReadPattern& read_pattern) {
  std::vector<TableChoice> tables;
  for (const YamlNode& item : node.items()) tables.push_back(read_table(item, has_baseline, read_pattern));
  return tables;
}

}  // namespace stagecraft
