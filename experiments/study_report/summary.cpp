#include "experiments/study_report/summary.hpp"

#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/contenders.hpp"
#include "experiments/study_report/pairing.hpp"
#include "experiments/view/basis_words.hpp"
#include "experiments/view/figures.hpp"
#include "sim/base/counted.hpp"
#include "sim/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

using RowsByCell = std::vector<const Row*>;  ///< null if a cell has no row
using CellIndices = std::vector<std::size_t>;

RowsByCell rows_by_cell(const Results& results) {
  RowsByCell rows(results.manifest.cells.size(), nullptr);
  for (const CellResult& result : results.rows) rows[result.index] = &result.row;
  return rows;
}

std::optional<double> throughput(const Row* row) {
  if (row == nullptr || row->status != CellStatus::Ok) return std::nullopt;
  const auto value = number_of(*row, name_of(FigureId::Throughput));
  return value && *value > 0.0 && std::isfinite(*value) ? value : std::nullopt;
}

/// The arithmetic mean of a figure over the rows that are `ok`. Differences to the first value are summed, so that the
/// mean of equal values is exactly that value.
std::optional<double> mean(const std::vector<const Row*>& rows, std::string_view name) {
  std::vector<double> values;
  for (const Row* row : rows) {
    const auto value = row->status == CellStatus::Ok ? number_of(*row, name) : std::nullopt;
    if (value) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  double excess = 0.0;
  for (double value : values) excess += value - values.front();
  return values.front() + excess / static_cast<double>(values.size());
}

/// The extreme value of a figure over all rows: the one that comes first in the order `before`.
template <class Before>
std::optional<std::int64_t> extreme(const std::vector<const Row*>& rows, std::string_view name, Before before) {
  std::optional<std::int64_t> found;
  for (const Row* row : rows) {
    const Detail* value = find_key(row->figures, name);
    const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->value);
    if (whole != nullptr && (!found || before(*whole, *found))) found = *whole;
  }
  return found;
}

std::string common_word(const std::vector<const Row*>& rows, std::string_view name) {
  std::string common;
  for (const Row* row : rows) {
    const Detail* value = find_key(row->figures, name);
    const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
    if (word == nullptr) continue;
    if (!common.empty() && common != *word) return "";
    common = *word;
  }
  return common;
}

/// A figure over the seeds: the value that all rows agree on, or else the mean of the rows that are `ok`, or null. Rows
/// of every status are looked at, because some figures also exist where there is no plan.
Detail extra_figure(const std::vector<const Row*>& rows, std::string_view name) {
  Detail common;
  for (const Row* row : rows) {
    Detail value = figure_of(*row, name);
    if (value == Detail()) continue;
    if (common != Detail() && common != value) {
      const auto average = mean(rows, name);
      return average ? Detail(*average) : Detail();
    }
    common = std::move(value);
  }
  return common;
}

Pairing find_baselines(const Manifest& manifest, const SortedCells& sorted) {
  if (manifest.baseline) return pair_cells(manifest.cells, sorted, *manifest.baseline, true);
  Pairing none;
  none.of.resize(manifest.cells.size());
  return none;
}

std::optional<MeanRatio> speed_up(const CellIndices& cells, const RowsByCell& rows, const Pairing& baselines) {
  std::vector<double> ratios;
  for (std::size_t cell : cells) {
    const auto baseline = baselines.of[cell];
    const auto ours = throughput(rows[cell]);
    const auto theirs = baseline ? throughput(rows[*baseline]) : std::nullopt;
    if (ours && theirs) ratios.push_back(*ours / *theirs);
  }
  return mean_ratio(ratios);
}

/// What the run of a row rests on; none if it has no run.
std::optional<Basis> basis_of_row(const Row& row) {
  const Detail* value = find_key(row.figures, name_of(FigureId::RestsOn));
  const auto* record = value == nullptr ? nullptr : std::get_if<Detail::Record>(&value->value);
  return record == nullptr ? std::nullopt : std::optional(basis_of_record(*record));
}

Basis mean_basis_of(const std::vector<const Row*>& rows) {
  std::vector<Basis> runs;
  for (const Row* row : rows) {
    if (auto basis = row->status == CellStatus::Ok ? basis_of_row(*row) : std::nullopt) runs.push_back(*basis);
  }
  return mean_basis(runs);
}

/// The mean of a time of a sample over the rows that have one.
template <class Time>
std::optional<double> mean_time(const std::vector<const Row*>& rows, const Time& time_of) {
  double sum = 0.0;
  double count = 0.0;
  for (const Row* row : rows) {
    const std::optional<double> time = time_of(row);
    sum += time.value_or(0.0);
    count += time ? 1.0 : 0.0;
  }
  return count > 0.0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> time_per_sample(const Row* row) {
  const auto samples_per_s = throughput(row);
  return samples_per_s ? std::optional(1.0 / *samples_per_s) : std::nullopt;
}

std::optional<double> predicted_time_per_sample(const Row* row) {
  const auto time = time_per_sample(row);
  const auto error = time ? number_of(*row, name_of(FigureId::PredictionError)) : std::nullopt;
  return error ? std::optional(*time * (1.0 + *error)) : std::nullopt;
}

/// The value of one of the study's further columns.
Detail extra_value(const StudyLine& line, const std::vector<const Row*>& rows, const std::string& column) {
  if (column != kRestsOn) return extra_figure(rows, column);
  return line.rests_on.empty() ? Detail() : Detail(origins_text(line.rests_on));
}

StudyLine make_line(std::size_t contender, const CellIndices& cells, const RowsByCell& all_rows,
                    const Pairing& baselines, const std::vector<std::string>& columns) {
  StudyLine line;
  line.contender = contender;
  std::vector<const Row*> rows;
  for (std::size_t cell : cells) {
    line.counts.add(all_rows[cell]);
    if (all_rows[cell] != nullptr) rows.push_back(all_rows[cell]);
  }
  line.speed_up = speed_up(cells, all_rows, baselines);
  line.throughput = mean(rows, name_of(FigureId::Throughput));
  line.samples_per_update = extreme(rows, name_of(FigureId::SamplesPerUpdate), std::greater<>());
  line.gradient_bucket_bytes = extreme(rows, name_of(FigureId::GradientBucket), std::greater<>());
  line.iteration_time_s = mean(rows, name_of(FigureId::IterationTime));
  line.period_s = mean(rows, name_of(FigureId::Period));
  line.bubble_ratio = mean(rows, name_of(FigureId::BubbleRatio));
  line.sample = {.simulated_s = mean_time(rows, time_per_sample),
                 .predicted_s = mean_time(rows, predicted_time_per_sample),
                 .prediction_error = mean(rows, name_of(FigureId::PredictionError))};
  line.over_bound = mean(rows, name_of(FigureId::OverBound));
  line.peak_memory_bytes = extreme(rows, name_of(FigureId::PeakMemory), std::greater<>());
  line.smallest_memory_bytes = extreme(rows, name_of(FigureId::SmallestMemory), std::greater<>());
  line.overflow_bytes = extreme(rows, name_of(FigureId::Overflow), std::greater<>());
  line.largest_microbatch_size = extreme(rows, name_of(FigureId::LargestMicrobatchSize), std::less<>());
  line.rests_on = mean_basis_of(rows);
  for (const std::string& column : columns) line.extra.push_back(extra_value(line, rows, column));
  line.schedule = common_word(rows, name_of(FigureId::ResolvedSchedule));
  line.configuration = common_word(rows, name_of(FigureId::Configuration));
  return line;
}

/// Marks the lines with the highest throughput among those whose cells are all `ok`. In a group with only one line none
/// is marked.
void mark_best(StudyGroup& group) {
  const auto competes = [](const StudyLine& line) {
    return line.throughput && line.counts.of(CellStatus::Ok) == line.counts.total();
  };
  if (group.lines.size() < 2) return;
  double highest = 0.0;
  for (const StudyLine& line : group.lines) {
    if (competes(line)) highest = std::max(highest, *line.throughput);
  }
  for (StudyLine& line : group.lines) line.is_best = competes(line) && !(*line.throughput < highest);
}

std::vector<StudyGroup> make_groups(const SortedCells& sorted, const RowsByCell& rows, const Pairing& baselines,
                                    const std::vector<std::string>& columns) {
  std::vector<std::map<std::size_t, CellIndices>> cells(sorted.groups.size());
  for (std::size_t i = 0; i < rows.size(); ++i) cells[sorted.group_of[i]][sorted.contender_of[i]].push_back(i);
  std::vector<StudyGroup> groups;
  for (std::size_t g = 0; g < cells.size(); ++g) {
    StudyGroup& group = groups.emplace_back(StudyGroup{sorted.groups[g], {}});
    for (const auto& [contender, indices] : cells[g]) {
      group.lines.push_back(make_line(contender, indices, rows, baselines, columns));
    }
    mark_best(group);
  }
  return groups;
}

std::vector<OverallLine> make_overall(const std::vector<StudyGroup>& groups, std::size_t contenders) {
  std::vector<OverallLine> overall(contenders);
  std::vector<std::vector<Basis>> rests_on(contenders);
  for (std::size_t i = 0; i < contenders; ++i) overall[i].contender = i;
  for (const StudyGroup& group : groups) {
    for (const StudyLine& line : group.lines) {
      OverallLine& into = overall[line.contender];
      ++into.groups;
      into.groups_won += line.is_best ? 1 : 0;
      into.counts.not_run += line.counts.not_run;
      for (const auto& [status, count] : line.counts.ended) into.counts.ended[status] += count;
      if (line.speed_up) into.speed_ups.push_back(line.speed_up->mean);
      if (!line.rests_on.empty()) rests_on[line.contender].push_back(line.rests_on);
    }
  }
  const std::vector<Claims> claims = summarise_claims(groups, contenders);
  for (OverallLine& line : overall) {
    line.claims = claims[line.contender];
    line.rests_on = mean_basis(rests_on[line.contender]);
    line.speed_up = mean_ratio(line.speed_ups);
    if (line.speed_up) line.speed_up->interval.reset();
  }
  return overall;
}

std::vector<StudyReason> find_reasons(const Results& results) {
  std::vector<StudyReason> reasons;
  std::map<std::pair<CellStatus, std::string>, std::size_t> known;
  for (const CellResult& result : results.rows) {
    if (result.row.status == CellStatus::Ok || result.row.message.empty()) continue;
    const auto [found, is_new] = known.emplace(std::pair(result.row.status, result.row.message), reasons.size());
    if (is_new) reasons.push_back({result.row.status, result.row.message, 0});
    ++reasons[found->second].count;
  }
  std::ranges::stable_sort(reasons, std::greater<>(), &StudyReason::count);
  return reasons;
}

/// Whether the lines of the group that have the figure have different values.
bool differs(const StudyGroup& group, std::optional<std::int64_t> StudyLine::* figure) {
  std::set<std::int64_t> values;
  for (const StudyLine& line : group.lines) {
    if (const auto& value = line.*figure) values.insert(*value);
  }
  return values.size() > 1;
}

/// Sentences about updates and gradient buckets of different sizes and about periods that have not converged.
void note_doubts(const StudySummary& summary, const RowsByCell& rows, std::vector<std::string>& notes) {
  const std::string all_groups = " of " + counted(summary.groups.size(), "group");
  if (const auto groups = std::ranges::count_if(summary.groups, updates_differ); groups > 0) {
    notes.push_back("samples per update differ between the lines of " + std::to_string(groups) + all_groups +
                    ", which do not train alike");
  }
  const auto buckets_differ = [](const StudyGroup& group) { return differs(group, &StudyLine::gradient_bucket_bytes); };
  if (const auto groups = std::ranges::count_if(summary.groups, buckets_differ); groups > 0) {
    notes.push_back("the lines of " + std::to_string(groups) + all_groups +
                    " exchange gradients in buckets of different sizes (column resolved_gradient_bucket_bytes); " +
                    "training.gradient_bucket makes them alike");
  }
  const auto moving = std::ranges::count_if(
      rows, [](const Row* row) { return row != nullptr && number_of(*row, name_of(FigureId::Converged)) == 0.0; });
  if (moving > 0) {
    notes.push_back(
        (moving == 1 ? "the period of 1 cell has" : "the periods of " + std::to_string(moving) + " cells have") +
        std::string(" not converged (column converged)"));
  }
}

/// A sentence about plans that leave devices of their platform unused, and the planners that made them.
void note_unused_devices(const SortedCells& sorted, const RowsByCell& rows, std::vector<std::string>& notes) {
  constexpr std::size_t kNamedPlanners = 5;
  std::size_t all = 0;
  std::size_t plans = 0;
  double most = 0.0;
  std::set<std::size_t> contenders;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto unused = rows[i] == nullptr ? std::nullopt : number_of(*rows[i], name_of(FigureId::DevicesUnused));
    if (unused) ++all;
    if (unused.value_or(0.0) <= 0.0) continue;
    ++plans;
    most = std::max(most, *unused);
    contenders.insert(sorted.contender_of[i]);
  }
  if (plans == 0) return;
  std::string names;
  std::size_t named = 0;
  for (const std::size_t contender : contenders) {
    if (named++ == kNamedPlanners) break;
    names += (names.empty() ? "" : ", ") + sorted.contenders[contender].name;
  }
  if (contenders.size() > kNamedPlanners) names += fmt::format(" and {} others", contenders.size() - kNamedPlanners);
  notes.push_back(fmt::format("{} of {} {} devices of the platform unused, at most {} (column devices_unused): {}",
                              plans, counted(all, "plan"), plans == 1 ? "leaves" : "leave",
                              static_cast<std::int64_t>(most), names));
}

std::vector<std::string> find_notes(const StudySummary& summary, const SortedCells& sorted, const Pairing& baselines,
                                    const RowsByCell& rows) {
  std::vector<std::string> notes;
  note_doubts(summary, rows, notes);
  note_unused_devices(sorted, rows, notes);
  if (!summary.baseline) return notes;
  if (!baselines.fits_any) notes.emplace_back("no cell is the baseline, so there are no speed-ups");
  if (!baselines.contenders.empty()) {
    notes.push_back("the baseline fits " + std::to_string(baselines.contenders.size()) +
                    " planners; the first of them is used: " + sorted.contenders[*baselines.contenders.begin()].name);
  }
  std::size_t unpaired = 0;
  for (const StudyGroup& group : summary.groups) {
    unpaired += static_cast<std::size_t>(std::ranges::count_if(
        group.lines, [](const StudyLine& line) { return line.throughput.has_value() && !line.speed_up; }));
  }
  if (unpaired > 0 && baselines.fits_any) {
    notes.push_back(counted(unpaired, "line") + (unpaired == 1 ? " has" : " have") +
                    " no speed-up, because the baseline is missing or has no figures there");
  }
  return notes;
}

std::size_t most_seeds(const std::vector<StudyGroup>& groups) {
  std::size_t most = 1;
  for (const StudyGroup& group : groups) {
    for (const StudyLine& line : group.lines) most = std::max(most, line.counts.total());
  }
  return most;
}

BasisRanges find_basis(const Results& results) {
  std::vector<Basis> runs;
  for (const CellResult& result : results.rows) {
    if (auto basis = basis_of_row(result.row)) runs.push_back(std::move(*basis));
  }
  return ranges_of(runs);
}

}  // namespace

bool updates_differ(const StudyGroup& group) { return differs(group, &StudyLine::samples_per_update); }

StudySummary summarise_study(const Results& results) {
  SortedCells sorted = sort_cells(results.manifest.cells);
  const RowsByCell rows = rows_by_cell(results);
  const Pairing baselines = find_baselines(results.manifest, sorted);
  StudySummary summary;
  summary.study = results.manifest.study;
  summary.cells = results.manifest.cells.size();
  summary.rows = results.rows.size();
  summary.baseline = results.manifest.baseline;
  summary.columns = results.manifest.columns;
  for (const Row* row : rows) summary.counts.add(row);
  summary.groups = make_groups(sorted, rows, baselines, results.manifest.columns);
  summary.overall = make_overall(summary.groups, sorted.contenders.size());
  summary.seeds = most_seeds(summary.groups);
  for (const TableChoice& table : results.manifest.tables) {
    summary.tables.push_back(make_table(table, results, sorted));
  }
  summary.reasons = find_reasons(results);
  summary.notes = find_notes(summary, sorted, baselines, rows);
  summary.constant = std::move(sorted.constant);
  summary.contenders = std::move(sorted.contenders);
  if (!summary.groups.empty()) {
    for (const auto& [key, value] : summary.groups.front().keys) summary.differing.push_back(key);
  }
  summary.rests_on = find_basis(results);
  return summary;
}

}  // namespace stagecraft
