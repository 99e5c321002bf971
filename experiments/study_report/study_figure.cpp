#include "experiments/study_report/study_figure.hpp"

#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/study_words.hpp"
#include "experiments/study_report/table_section.hpp"
#include "experiments/view/figures.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

namespace stagecraft {
namespace {

constexpr std::size_t kLeastColumns = 3;  ///< of a curve

using LineValue = std::function<std::vector<std::optional<double>>(const StudyGroup& group)>;

std::vector<std::string> names_of_keys(const Keys& keys) {
  std::vector<std::string> names;
  for (const auto& [key, value] : keys) names.push_back(key);
  return names;
}

/// `nodes` of `platform.nodes.count`.
std::string key_word(const std::string& key, const std::vector<std::string>& names) {
  constexpr std::string_view kCount = ".count";
  if (!key.ends_with(kCount)) return short_key(key, names);
  const std::string counted_thing = key.substr(0, key.size() - kCount.size());
  return counted_thing.substr(counted_thing.rfind('.') + 1);
}

std::string place_name(const Keys& keys, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& [key, value] : keys) {
    const bool is_word = std::holds_alternative<std::string>(value.value);
    text += (text.empty() ? "" : ", ") + (is_word ? "" : key_word(key, names) + " ") + value_text(value);
  }
  return text;
}

std::string place_name(const Keys& keys) { return place_name(keys, names_of_keys(keys)); }

bool tells_apart(const std::vector<Keys>& rows) {
  std::set<std::string> texts;
  for (const Keys& row : rows) texts.insert(keys_text(row));
  return texts.size() == rows.size();
}

/// A row for each group, and a series for each contender.
BarFigure bars_of_groups(const StudySummary& summary, const LineValue& values_of) {
  BarFigure bars;
  bars.of_what = "groups";
  std::vector<Keys> keys;
  for (const Contender& contender : summary.contenders) bars.series.push_back(contender.name);
  for (const StudyGroup& group : summary.groups) {
    const std::vector<std::optional<double>> found = values_of(group);
    if (std::ranges::none_of(found, &std::optional<double>::has_value)) continue;
    keys.push_back(group.keys);
    auto& row = bars.values.emplace_back(bars.series.size());
    for (std::size_t i = 0; i < group.lines.size(); ++i) row[group.lines[i].contender] = found[i];
  }
  bars.rows = row_names(std::move(keys));
  return bars;
}

template <class Value>
LineValue each_line(Value value) {
  return [value](const StudyGroup& group) {
    std::vector<std::optional<double>> values;
    for (const StudyLine& line : group.lines) values.push_back(value(line));
    return values;
  };
}

StudyFigure speed_up_figure(const StudySummary& summary) {
  BarFigure bars = bars_of_groups(summary, each_line([](const StudyLine& line) {
                                    return line.speed_up ? std::optional(line.speed_up->mean) : std::nullopt;
                                  }));
  for (const OverallLine& line : summary.overall) {
    bars.means.push_back(
        {line.speed_up ? std::optional(line.speed_up->mean) : std::nullopt, line.speed_ups.size(), line.groups});
  }
  return {"Speed-up over " + keys_text(*summary.baseline), std::string(kSpeedUp), true, std::move(bars)};
}

/// Whether the study asks which schedule is best: it has one planner, with several schedules.
bool compares_schedules(const StudySummary& summary) {
  std::set<std::string> schedules;
  for (const Contender& contender : summary.contenders) {
    const auto choice = std::ranges::find(contender.choices, "schedule", &Keys::value_type::first);
    if (contender.planner != summary.contenders.front().planner || choice == contender.choices.end()) return false;
    schedules.insert(value_text(choice->second));
  }
  return schedules.size() > 1 && schedules.size() == summary.contenders.size();
}

/// Whether the pattern is about contenders only, and this is one that it means.
bool is_meant(const Contender& contender, const Keys& pattern) {
  return std::ranges::all_of(pattern, [&](const auto& wish) {
    const auto& [key, value] = wish;
    if (key == "label") return value == Detail(contender.label);
    if (key == "planner") return value == Detail(contender.planner);
    return std::ranges::find(contender.choices, wish) != contender.choices.end();
  });
}

/// The peak of the baseline in the group, if it ran.
std::optional<double> peak_of_baseline(const StudySummary& summary, const StudyGroup& group) {
  for (const StudyLine& line : group.lines) {
    if (!line.speed_up || !line.peak_memory_bytes || *line.peak_memory_bytes <= 0) continue;
    if (is_meant(summary.contenders[line.contender], *summary.baseline)) {
      return static_cast<double>(*line.peak_memory_bytes);
    }
  }
  return std::nullopt;
}

/// No panels if the baseline is not a schedule of each group.
TradeFigure trade_figure(const StudySummary& summary) {
  TradeFigure trade;
  std::vector<Keys> keys;
  for (const Contender& contender : summary.contenders) trade.series.push_back(contender.name);
  for (const StudyGroup& group : summary.groups) {
    const std::optional<double> peak = peak_of_baseline(summary, group);
    if (!peak) continue;
    keys.push_back(group.keys);
    auto& panel = trade.panels.emplace_back();
    panel.points.resize(trade.series.size());
    for (const StudyLine& line : group.lines) {
      if (!line.speed_up || !line.peak_memory_bytes) continue;
      panel.points[line.contender] = {static_cast<double>(*line.peak_memory_bytes) / *peak, 1.0 / line.speed_up->mean};
    }
  }
  const std::vector<std::string> names = row_names(std::move(keys));
  for (std::size_t i = 0; i < names.size(); ++i) trade.panels[i].heading = names[i];
  return trade;
}

StudyFigure regret_figure(const StudySummary& summary) {
  BarFigure bars = bars_of_groups(summary, regrets_of);
  for (const OverallLine& line : summary.overall) {
    bars.means.push_back({line.claims.regret, line.claims.compared, line.groups});
  }
  return {"Regret: the best samples/s of the group over the planner's", std::string(kRegret), true, std::move(bars)};
}

StudyFigure throughput_figure(const StudySummary& summary) {
  BarFigure bars = bars_of_groups(summary, each_line([](const StudyLine& line) { return line.throughput; }));
  StudyFigure figure{"Samples per second", std::string(name_of(FigureId::Throughput)), false, {}};
  if (summary.differing.size() != 1 || bars.rows.size() < kLeastColumns) {
    figure.content = std::move(bars);
    return figure;
  }
  CurveFigure curve{key_word(summary.differing.front(), summary.differing), {}, std::move(bars.series), {{}}};
  curve.panels.front().values.resize(curve.series.size());
  for (const StudyGroup& group : summary.groups) curve.columns.push_back(value_text(group.keys.front().second));
  for (const StudyGroup& group : summary.groups) {
    for (auto& values : curve.panels.front().values) values.emplace_back();
    for (const StudyLine& line : group.lines) curve.panels.front().values[line.contender].back() = line.throughput;
  }
  figure.content = std::move(curve);
  return figure;
}

std::vector<std::size_t> period_columns(const StudySummary& summary) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < summary.columns.size(); ++i) {
    const std::string& name = summary.columns[i];
    if (name.starts_with("details.") && name.ends_with("_period_s")) columns.push_back(i);
  }
  return columns;
}

StudyFigure point_figure(const StudySummary& summary, const std::vector<std::size_t>& columns) {
  PointFigure points;
  std::vector<Keys> keys;
  for (const std::size_t column : columns) points.series.push_back(column_heading(summary.columns[column]));
  for (const StudyGroup& group : summary.groups) {
    keys.push_back(group.keys);
    auto& panel = points.panels.emplace_back();
    panel.points.resize(columns.size());
    for (const StudyLine& line : group.lines) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto* claimed = std::get_if<double>(&line.extra[columns[i]].value);
        if (claimed != nullptr && line.period_s) panel.points[i].emplace_back(*line.period_s, *claimed);
      }
    }
  }
  const std::vector<std::string> names = row_names(std::move(keys));
  for (std::size_t i = 0; i < names.size(); ++i) points.panels[i].heading = names[i];
  return {"Claimed and simulated periods", std::string(name_of(FigureId::Period)), false, std::move(points)};
}

bool is_curve(const CrossTable& table) {
  return table.choice.columns.size() == 1 && table.choice.columns.front() != "planner" &&
         table.columns.size() >= kLeastColumns;
}

/// The panels are the values of the first key of the rows, if they have several.
CurveFigure curves_of_table(const CrossTable& table) {
  CurveFigure curves;
  curves.column_key = key_word(table.choice.columns.front(), table.choice.columns);
  for (const Keys& column : table.columns) curves.columns.push_back(value_text(column.front().second));
  const bool has_panels = table.choice.rows.size() > 1;
  const auto number_in = [](std::vector<std::string>& list, const std::string& name) {
    const auto found = std::ranges::find(list, name);
    const auto number = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) list.push_back(name);
    return number;
  };
  std::vector<std::string> headings;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // panel and series of each row
  for (const Keys& row : table.rows) {
    const std::size_t panel =
        has_panels ? number_in(headings, place_name({row.front()}, table.choice.rows)) : number_in(headings, "");
    const Keys rest(row.begin() + (has_panels ? 1 : 0), row.end());
    places.emplace_back(panel, number_in(curves.series, place_name(rest, table.choice.rows)));
  }
  for (std::string& heading : headings) {
    const FigureValues none(curves.series.size(), std::vector<std::optional<double>>(table.columns.size()));
    curves.panels.push_back({std::move(heading), none});
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      curves.panels[places[i].first].values[places[i].second][j] = table.cells[i][j].mean;
    }
  }
  return curves;
}

BarFigure bars_of_table(const CrossTable& table) {
  BarFigure bars;
  bars.of_what = "cells";
  for (const Keys& column : table.columns) bars.series.push_back(column_text(column, table.choice.columns));
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (std::ranges::none_of(table.cells[i], [](const TableCell& cell) { return cell.mean.has_value(); })) continue;
    bars.rows.push_back(place_name(table.rows[i]));
    auto& row = bars.values.emplace_back();
    for (const TableCell& cell : table.cells[i]) row.push_back(cell.mean);
  }
  if (!is_ratio(table.choice)) return bars;
  for (const TableCell& cell : table.all) bars.means.push_back({cell.mean, cell.used, cell.counts.total()});
  return bars;
}

StudyFigure table_figure(const CrossTable& table) {
  StudyFigure figure{table_heading(table), table.choice.value, is_ratio(table.choice), {}};
  if (is_curve(table)) {
    figure.content = curves_of_table(table);
  } else {
    figure.content = bars_of_table(table);
  }
  return figure;
}

}  // namespace

std::vector<std::string> row_names(std::vector<Keys> rows) {
  if (rows.empty()) return {};
  for (std::size_t key = rows.front().size(); key-- > 1;) {
    std::vector<Keys> fewer = rows;
    for (Keys& row : fewer) row.erase(row.begin() + static_cast<std::ptrdiff_t>(key));
    if (tells_apart(fewer)) rows = std::move(fewer);
  }
  std::vector<std::string> names;
  for (const Keys& row : rows) names.push_back(place_name(row));
  return names;
}

StudyFigure choose_figure(const StudySummary& summary) {
  const auto table =
      std::ranges::find_if(summary.tables, [](const CrossTable& each) { return each.choice.value != kOutcome; });
  if (table != summary.tables.end()) return table_figure(*table);
  if (summary.baseline && compares_schedules(summary)) {
    TradeFigure trade = trade_figure(summary);
    const std::string title = "Time of a sample by peak memory, both over those of " + keys_text(*summary.baseline);
    if (!trade.panels.empty()) return {title, std::string(kSpeedUp), true, std::move(trade)};
  }
  if (summary.baseline) return speed_up_figure(summary);
  const std::vector<std::size_t> periods = period_columns(summary);
  if (!periods.empty()) return point_figure(summary, periods);
  return summary.contenders.size() > 1 ? regret_figure(summary) : throughput_figure(summary);
}

}  // namespace stagecraft
