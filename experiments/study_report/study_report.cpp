#include "experiments/study_report/study_report.hpp"

#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/fastest_section.hpp"
#include "experiments/study_report/study_words.hpp"
#include "experiments/study_report/table_section.hpp"
#include "experiments/view/basis_words.hpp"
#include "experiments/view/configuration.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kMostReasons = 20;

std::string ratio_or_dash(const std::optional<MeanRatio>& ratio) { return ratio ? ratio_text(ratio->mean) : "-"; }

std::string interval_text(const std::optional<MeanRatio>& ratio) {
  if (!ratio || !ratio->interval) return "-";
  return ratio_text(ratio->interval->low) + " to " + ratio_text(ratio->interval->high);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// The memory that is lacking, or the memory or microbatch size with which there would be a plan; empty if unknown.
std::string remedy_text(const StudyLine& line) {
  if (line.counts.of(CellStatus::OutOfMemory) > 0 && line.overflow_bytes) {
    return "lacks " + bytes_text(*line.overflow_bytes);
  }
  if (line.counts.of(CellStatus::Infeasible) == 0) return "";
  std::string text;
  if (line.smallest_memory_bytes) text = format_enough_bytes(Bytes(*line.smallest_memory_bytes));
  if (line.largest_microbatch_size) {
    text += (text.empty() ? "" : " or ") + fmt::format("microbatches of {}", *line.largest_microbatch_size);
  }
  return text.empty() ? text : "would fit with " + text;
}

std::string shown_rate(const StudyLine& line) { return line.throughput ? short_number(*line.throughput) : "-"; }

/// What the best line of the group shows as samples/s; empty if none is marked.
std::string best_rate(const StudyGroup& group) {
  const auto best = std::ranges::find_if(group.lines, &StudyLine::is_best);
  return best == group.lines.end() ? "" : shown_rate(*best);
}

/// A line that shows the same samples/s as the best one, `best_rate`, says so.
std::string outcome_text(const StudyLine& line, const std::string& best_rate) {
  const bool is_uniform = line.counts.ended.size() + (line.counts.not_run > 0 ? 1 : 0) == 1;
  std::string text = counts_text(line.counts);
  if (is_uniform) {
    text = line.counts.not_run > 0 ? "not run" : status_text(line.counts.ended.begin()->first);
  }
  const std::string remedy = remedy_text(line);
  if (!remedy.empty()) text += " (" + remedy + ")";
  if (line.is_best) return text + ", best";
  const bool is_ok = line.counts.of(CellStatus::Ok) == line.counts.total();
  return is_ok && shown_rate(line) == best_rate ? text + ", best as printed" : text;
}

std::string time_text(const StudyLine& line) {
  const auto& seconds = line.period_s ? line.period_s : line.iteration_time_s;
  return seconds ? format_human_seconds(Seconds(*seconds)) : "-";
}

/// The columns to show. Some are shown only if a line of the study has a value there.
struct Columns {
  bool schedule = true;
  bool speed_up = false;
  bool interval = false;
  bool prediction = false;
  bool updates = false;
  std::vector<std::string> extra;
};

Columns find_columns(const StudySummary& summary) {
  Columns columns{.speed_up = summary.baseline.has_value(), .extra = summary.columns};
  for (const StudyGroup& group : summary.groups) {
    columns.updates = columns.updates || updates_differ(group);
    for (const StudyLine& line : group.lines) {
      columns.interval = columns.interval || (line.speed_up && line.speed_up->interval);
      columns.prediction = columns.prediction || line.sample.prediction_error;
    }
  }
  return columns;
}

std::vector<std::string> figure_cells(const StudyLine& line, const Columns& columns, const std::string& best_rate) {
  std::vector<std::string> cells;
  if (columns.schedule) cells.push_back(or_dash(line.schedule) + (line.period_s ? " *" : ""));
  cells.push_back(or_dash(line.configuration));
  if (columns.updates) cells.push_back(line.samples_per_update ? std::to_string(*line.samples_per_update) : "-");
  for (std::size_t i = 0; i < columns.extra.size(); ++i) {
    cells.push_back(figure_text(columns.extra[i], line.extra[i]));
  }
  cells.push_back(shown_rate(line));
  if (columns.speed_up) cells.push_back(ratio_or_dash(line.speed_up));
  if (columns.interval) cells.push_back(interval_text(line.speed_up));
  cells.push_back(time_text(line));
  if (columns.prediction)
    cells.push_back(line.sample.prediction_error ? signed_percent(*line.sample.prediction_error) : "-");
  cells.push_back(line.bubble_ratio ? percent(*line.bubble_ratio) : "-");
  cells.push_back(line.peak_memory_bytes ? bytes_text(*line.peak_memory_bytes) : "-");
  cells.push_back(outcome_text(line, best_rate));
  return cells;
}

std::vector<std::string> figure_header(const Columns& columns) {
  std::vector<std::string> header;
  if (columns.schedule) header.emplace_back("schedule");
  header.emplace_back("replicas");
  if (columns.updates) header.emplace_back("update");
  for (const std::string& column : columns.extra) header.push_back(column_heading(column));
  header.emplace_back("samples/s");
  if (columns.speed_up) header.emplace_back("speed-up");
  if (columns.interval) header.emplace_back("95 % interval");
  header.emplace_back("time");
  if (columns.prediction) header.emplace_back("claim");
  header.insert(header.end(), {"bubble", "peak memory", "outcome"});
  return header;
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  std::ranges::move(more, std::back_inserter(to));
}

Section group_section(const StudySummary& summary, const StudyGroup& group, const Columns& columns) {
  Section section;
  section.heading = group.keys.empty() ? "All cells" : keys_text(group.keys);
  Table& table = section.table.emplace(Table{{"planner"}, {}, 3, true});
  append(table.header, figure_header(columns));
  const std::string best = best_rate(group);
  for (const StudyLine& line : group.lines) {
    if (line.is_best) section.strong_rows.insert(table.rows.size());
    table.rows.push_back({summary.contenders[line.contender].name});
    append(table.rows.back(), figure_cells(line, columns, best));
  }
  return section;
}

/// The table of a study with only one planner: one line for each group.
Section only_planner_section(const StudySummary& summary, Columns columns) {
  columns.schedule = std::ranges::find(summary.differing, "schedule") == summary.differing.end();
  Section section;
  section.heading = counted(summary.groups.size(), "group");
  Table& table = section.table.emplace(Table{{}, {}, summary.differing.size() + (columns.schedule ? 2 : 1), true});
  for (const std::string& key : summary.differing) table.header.push_back(short_key(key, summary.differing));
  append(table.header, figure_header(columns));
  for (const StudyGroup& group : summary.groups) {
    std::vector<std::string> cells;
    for (const auto& [key, value] : group.keys) cells.push_back(value_text(value));
    append(cells, figure_cells(group.lines.front(), columns, ""));
    table.rows.push_back(std::move(cells));
  }
  return section;
}

/// Whether the study asks for what its runs rest on.
bool shows_basis(const StudySummary& summary) {
  return std::ranges::find(summary.columns, kRestsOn) != summary.columns.end();
}

std::vector<std::string> overall_cells(const StudySummary& summary, const OverallLine& line) {
  const auto count = [&](CellStatus status) { return line.counts.of(status); };
  std::vector<std::string> cells{summary.contenders[line.contender].name};
  if (summary.baseline) {
    const auto [lowest, highest] = std::ranges::minmax_element(line.speed_ups);
    const bool any = !line.speed_ups.empty();
    cells.insert(cells.end(),
                 {ratio_or_dash(line.speed_up), any ? ratio_text(*lowest) : "-", any ? ratio_text(*highest) : "-",
                  fmt::format("{} of {}", line.speed_ups.size(), line.groups)});
  }
  const std::size_t failed = count(CellStatus::Timeout) + count(CellStatus::Crashed) + count(CellStatus::Invalid);
  for (const std::size_t value : {line.groups_won, count(CellStatus::Ok), count(CellStatus::Infeasible),
                                  count(CellStatus::OutOfMemory), failed, line.counts.not_run}) {
    cells.push_back(std::to_string(value));
  }
  if (shows_basis(summary)) cells.push_back(or_dash(origins_text(line.rests_on)));
  return cells;
}

Section overall_section(const StudySummary& summary) {
  Section section;
  section.heading = "Overall, " + counted(summary.groups.size(), "group");
  Table& table = section.table.emplace(Table{{"planner"}, {}, 1});
  if (summary.baseline) table.header.insert(table.header.end(), {"speed-up", "lowest", "highest", "compared"});
  table.header.insert(table.header.end(), {"best", "ok", "infeasible", "out of memory", "failed", "not run"});
  if (shows_basis(summary)) table.header.push_back(column_heading(std::string(kRestsOn)));
  for (const OverallLine& line : summary.overall) table.rows.push_back(overall_cells(summary, line));
  return section;
}

std::vector<std::string> claims_cells(const std::string& name, const Claims& claims) {
  const auto error = [](const std::optional<double>& value) { return value ? signed_percent(*value) : "-"; };
  const auto ratio = [](const std::optional<double>& value) { return value ? ratio_text(*value) : "-"; };
  return {name,
          std::to_string(claims.plans),
          error(claims.mean_error),
          error(claims.worst_error),
          claims.rank_correlation ? fmt::format("{:.2f}", *claims.rank_correlation) : "-",
          std::to_string(claims.compared),
          ratio(claims.regret),
          ratio(claims.worst_regret),
          ratio(claims.over_bound)};
}

/// How well each planner predicted its plans, and how far they are from the best of their groups.
Section claims_section(const StudySummary& summary, const std::vector<PlanningTimes>& times) {
  Section section;
  section.heading = "Claims and regret";
  section.items = {
      "error: (claimed − simulated) / simulated time",
      "rank: Spearman's correlation of both times of a sample, each over the best simulated one of its group",
      "regret: the group's best samples/s over the planner's",
      "x best: time over the least possible for the plan's cut (1: no order is faster); geometric mean"};
  Table& table = section.table.emplace(
      Table{{"planner", "claims", "mean error", "worst error", "rank", "compared", "regret", "worst regret", "x best"},
            {},
            1});
  for (const OverallLine& line : summary.overall) {
    table.rows.push_back(claims_cells(summary.contenders[line.contender].name, line.claims));
  }
  if (times.empty()) return section;
  section.items.emplace_back("planning: how long the planner took, mean over its cells; differs from run to run");
  table.header.emplace_back("planning");
  for (std::size_t i = 0; i < times.size(); ++i) {
    table.rows[i].push_back(times[i].mean_s ? format_human_seconds(Seconds(*times[i].mean_s)) : "-");
  }
  return section;
}

bool has_claims(const StudySummary& summary) {
  return std::ranges::any_of(summary.overall,
                             [](const OverallLine& line) { return line.claims.plans > 0 || line.claims.compared > 0; });
}

/// An item for each contender that has a label or choices: its planner and its choices.
std::vector<std::string> contender_items(const StudySummary& summary) {
  std::vector<std::string> items;
  for (const Contender& contender : summary.contenders) {
    if (contender.label.empty() && contender.choices.empty()) continue;
    const std::string choices = contender.choices.empty() ? "" : " with " + keys_text(contender.choices);
    items.push_back(contender.name + ": " + contender.planner + choices);
  }
  return items;
}

std::vector<std::string> meaning_of_figures(const StudySummary& summary) {
  const bool has_seeds = summary.seeds > 1;
  std::vector<std::string> sentences;
  if (has_seeds) sentences.push_back(fmt::format("Figures are means over {} seeds.", summary.seeds));
  if (!summary.baseline) return sentences;
  sentences.push_back("Speed-up: ratio of samples/s to the cell of " + keys_text(*summary.baseline) +
                      (has_seeds ? " with the same seed, geometric mean over the seeds." : "."));
  if (has_seeds) {
    sentences.emplace_back(
        "Interval: 95 % confidence interval of the mean logarithm of the ratios (Student's t), if they vary.");
  }
  return sentences;
}

template <class Is>
bool any_line(const StudySummary& summary, Is is) {
  return std::ranges::any_of(summary.groups,
                             [&](const StudyGroup& group) { return std::ranges::any_of(group.lines, is); });
}

std::vector<std::string> configurations_of(const StudySummary& summary) {
  std::vector<std::string> texts;
  for (const StudyGroup& group : summary.groups) {
    for (const StudyLine& line : group.lines) texts.push_back(line.configuration);
  }
  return texts;
}

Section heading_section(const StudySummary& summary) {
  Section section;
  section.sentences.push_back(
      fmt::format("{} of {}: {}", summary.rows, counted(summary.cells, "cell"), counts_text(summary.counts)));
  if (!summary.constant.empty()) section.sentences.push_back("In all cells: " + keys_text(summary.constant));
  for (std::string& sentence : meaning_of_figures(summary)) section.sentences.push_back(std::move(sentence));
  if (find_columns(summary).updates)
    section.sentences.emplace_back("update: samples per update, of the stage with the most.");
  if (const std::string folded = configuration_legend(configurations_of(summary)); !folded.empty()) {
    section.sentences.push_back(folded + ".");
  }
  if (any_line(summary, [](const StudyLine& line) { return line.period_s.has_value(); })) {
    section.sentences.emplace_back(
        "* asynchronous: no flush between iterations, weights are older; the time is that of one microbatch, and for "
        "other schedules that of one iteration.");
  }
  for (const std::string& note : summary.notes) section.sentences.push_back("Note: " + note);
  if (!summary.rests_on.empty()) section.sentences.push_back(basis_text(summary.rests_on));
  section.items = contender_items(summary);
  return section;
}

Section reason_section(const StudySummary& summary) {
  Section section;
  section.heading = "Why cells gave no figures";
  for (const StudyReason& reason : summary.reasons) {
    if (section.items.size() == kMostReasons) {
      section.sentences.push_back(
          fmt::format("The {} most frequent of {} reasons:", kMostReasons, summary.reasons.size()));
      break;
    }
    section.items.push_back(fmt::format("{} x {}: {}", reason.count, status_text(reason.status), reason.message));
  }
  return section;
}

}  // namespace

Document study_document(const StudySummary& summary, const std::vector<PlanningTimes>& times) {
  Document document{"Study " + summary.study, {heading_section(summary)}};
  document.sections.push_back(overall_section(summary));
  if (std::optional<Section> fastest = fastest_section(summary)) document.sections.push_back(*std::move(fastest));
  const Columns columns = find_columns(summary);
  if (!summary.tables.empty()) {
    for (const CrossTable& table : summary.tables) document.sections.push_back(table_section(table));
  } else if (summary.contenders.size() == 1 && summary.groups.size() > 1) {
    document.sections.push_back(only_planner_section(summary, columns));
  } else {
    for (const StudyGroup& group : summary.groups) {
      document.sections.push_back(group_section(summary, group, columns));
    }
  }
  if (has_claims(summary) || !times.empty()) document.sections.push_back(claims_section(summary, times));
  if (!summary.reasons.empty()) document.sections.push_back(reason_section(summary));
  return document;
}

}  // namespace stagecraft
