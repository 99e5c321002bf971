#include "experiments/study_report/cross_table.hpp"

#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/mean_ratio.hpp"
#include "experiments/study_report/pairing.hpp"
#include "experiments/view/figures.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

/// The values of the study's cells that fall into one cell of the table.
struct Gathered {
  CellCounts counts;
  std::vector<double> values;
};

/// Numbers the rows (or columns) of the table: one for each combination of values of some keys, in order of appearance.
struct Places {
  std::vector<Keys> values;
  std::map<std::string, std::size_t> known;

  std::size_t of(Keys keys) {
    const auto [found, is_new] = known.emplace(to_json(keys, -1), values.size());
    if (is_new) values.push_back(std::move(keys));
    return found->second;
  }
};

Keys values_of(const std::vector<std::string>& names, const Cell& cell, const Contender& contender) {
  Keys keys;
  for (const std::string& name : names) {
    const Detail* value = name == "planner" ? nullptr : find_key(cell.keys, name);
    keys.emplace_back(name, name == "planner" ? Detail(contender.name) : value == nullptr ? Detail() : *value);
  }
  return keys;
}

std::optional<double> mean_of(std::vector<double>& values, MeanKind kind) {
  if (kind == MeanKind::Geometric) std::erase_if(values, [](double value) { return !(value > 0.0); });
  if (values.empty()) return std::nullopt;
  switch (kind) {
    case MeanKind::Geometric: return mean_ratio(values)->mean;
    case MeanKind::Smallest: return *std::ranges::min_element(values);
    case MeanKind::Largest: return *std::ranges::max_element(values);
    case MeanKind::Arithmetic: break;
  }
  double excess = 0.0;  // relative to the first value, so that the mean of equal values is exactly that value
  for (const double value : values) excess += value - values.front();
  return values.front() + excess / static_cast<double>(values.size());
}

TableCell make_cell(Gathered gathered, const TableChoice& choice) {
  TableCell cell;
  cell.counts = std::move(gathered.counts);
  cell.mean = mean_of(gathered.values, choice.mean);
  cell.used = gathered.values.size();
  return cell;
}

/// The best figure of cells that differ in the planner only.
struct Best {
  double value = 0.0;
  std::set<std::size_t> contenders;  ///< that have the figure
};

/// The values of a table: the figure of each cell, divided by that of the cell's partner if there are partners. For
/// regret, the best figure of the cell's group and seed divided by its own, if there is another planner's.
struct Source {
  std::vector<const Row*> rows;  ///< by cell; null if the cell has no row
  std::string_view figure;
  std::optional<Pairing> partners;
  std::vector<std::pair<std::size_t, std::uint64_t>> group_and_seed;  ///< by cell; empty but for regret
  std::map<std::pair<std::size_t, std::uint64_t>, Best> best;

  [[nodiscard]] std::optional<double> own_value(std::size_t cell) const {
    const Row* row = rows[cell];
    if (row == nullptr || row->status != CellStatus::Ok) return std::nullopt;
    const auto value = number_of(*row, figure);
    return value && std::isfinite(*value) ? value : std::nullopt;
  }
  [[nodiscard]] std::optional<double> value(std::size_t cell) const {
    const auto own = own_value(cell);
    if (own && !group_and_seed.empty()) {
      const Best& all = best.at(group_and_seed[cell]);
      return *own > 0.0 && all.contenders.size() > 1 ? std::optional(all.value / *own) : std::nullopt;
    }
    if (!partners || !own) return own;
    const auto& partner = partners->of[cell];
    const auto theirs = partner ? own_value(*partner) : std::nullopt;
    return theirs && *theirs > 0.0 ? std::optional(*own / *theirs) : std::nullopt;
  }
};

void find_best(const std::vector<StudyCell>& cells, const SortedCells& sorted, Source& source) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    source.group_and_seed.emplace_back(sorted.group_of[i], cells[i].cell.seed);
    const auto own = source.own_value(i);
    if (!own) continue;
    Best& best = source.best[source.group_and_seed.back()];
    best.value = std::max(best.value, *own);
    best.contenders.insert(sorted.contender_of[i]);
  }
}

Source find_source(const Results& results, const SortedCells& sorted, CrossTable& table) {
  const Manifest& manifest = results.manifest;
  Source source{std::vector<const Row*>(manifest.cells.size(), nullptr), table.choice.value, {}, {}, {}};
  for (const CellResult& result : results.rows) source.rows[result.index] = &result.row;
  const bool is_speed_up = table.choice.value == kSpeedUp;
  const bool is_regret = table.choice.value == kRegret;
  if (is_speed_up || is_regret) source.figure = name_of(FigureId::Throughput);
  if (is_regret) find_best(manifest.cells, sorted, source);
  table.over = is_speed_up ? manifest.baseline : table.choice.over;
  if (!table.over) return source;
  const bool names_planner =
      std::ranges::any_of(*table.over, [&](const auto& entry) { return says_who(sorted, entry.first); });
  source.partners = pair_cells(manifest.cells, sorted, *table.over, is_speed_up || names_planner);
  for (const std::size_t contender : source.partners->contenders) {
    table.several.push_back(sorted.contenders[contender].name);
  }
  return source;
}

}  // namespace

CrossTable make_table(const TableChoice& choice, const Results& results, const SortedCells& sorted) {
  CrossTable table;
  table.choice = choice;
  const Source source = find_source(results, sorted, table);
  Places rows;
  Places columns;
  std::map<std::pair<std::size_t, std::size_t>, Gathered> gathered;
  std::map<std::size_t, Gathered> whole;
  for (std::size_t i = 0; i < source.rows.size(); ++i) {
    const Cell& cell = results.manifest.cells[i].cell;
    if (!matches(cell.keys, choice.where)) continue;
    const Contender& contender = sorted.contenders[sorted.contender_of[i]];
    const std::size_t row = rows.of(values_of(choice.rows, cell, contender));
    const std::size_t column = columns.of(values_of(choice.columns, cell, contender));
    const auto value = source.value(i);
    for (Gathered* into : {&gathered[{row, column}], &whole[column]}) {
      into->counts.add(source.rows[i]);
      if (value) into->values.push_back(*value);
    }
  }
  table.rows = std::move(rows.values);
  table.columns = std::move(columns.values);
  table.cells.resize(table.rows.size(), std::vector<TableCell>(table.columns.size()));
  for (auto& [place, figures] : gathered) {
    table.cells[place.first][place.second] = make_cell(std::move(figures), choice);
  }
  for (auto& [column, figures] : whole) table.all.push_back(make_cell(std::move(figures), choice));
  return table;
}

}  // namespace stagecraft
