// A study's report as JSON and as comma-separated values.
#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/csv_text.hpp"
#include "experiments/study_report/study_report.hpp"
#include "experiments/study_report/table_section.hpp"
#include "experiments/view/basis_words.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/page.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

template <class Figure>
Detail or_null(const std::optional<Figure>& value) {
  return value ? Detail(*value) : Detail();
}

Detail text_or_null(const std::string& text) { return text.empty() ? Detail() : Detail(text); }

Detail whole(std::size_t count) { return static_cast<std::int64_t>(count); }

Detail::Record counts_record(const CellCounts& counts) {
  Detail::Record record;
  for (const CellStatus status : all_statuses()) record.emplace_back(to_string(status), whole(counts.of(status)));
  record.emplace_back("not_run", whole(counts.not_run));
  return record;
}

/// Adds the speed-up, its confidence interval and the number of pairs.
void put_speed_up(Detail::Record& into, const std::optional<MeanRatio>& ratio) {
  Detail low;
  Detail high;
  if (ratio && ratio->interval) {
    low = ratio->interval->low;
    high = ratio->interval->high;
  }
  into.emplace_back("speed_up", ratio ? Detail(ratio->mean) : Detail());
  into.emplace_back("speed_up_low", std::move(low));
  into.emplace_back("speed_up_high", std::move(high));
  into.emplace_back("speed_up_pairs", whole(ratio ? ratio->pairs : 0));
}

Detail::Record line_record(const StudySummary& summary, const StudyLine& line) {
  Detail::Record record{{"cells", whole(line.counts.total())}};
  for (auto& entry : counts_record(line.counts)) record.push_back(std::move(entry));
  record.emplace_back("best", line.is_best);
  put_speed_up(record, line.speed_up);
  const auto put = [&](FigureId id, Detail value) { record.emplace_back(name_of(id), std::move(value)); };
  put(FigureId::Throughput, or_null(line.throughput));
  put(FigureId::IterationTime, or_null(line.iteration_time_s));
  put(FigureId::Period, or_null(line.period_s));
  put(FigureId::SamplesPerUpdate, or_null(line.samples_per_update));
  put(FigureId::GradientBucket, or_null(line.gradient_bucket_bytes));
  put(FigureId::BubbleRatio, or_null(line.bubble_ratio));
  put(FigureId::PredictionError, or_null(line.sample.prediction_error));
  put(FigureId::PeakMemory, or_null(line.peak_memory_bytes));
  put(FigureId::Overflow, or_null(line.overflow_bytes));
  put(FigureId::SmallestMemory, or_null(line.smallest_memory_bytes));
  put(FigureId::LargestMicrobatchSize, or_null(line.largest_microbatch_size));
  put(FigureId::ResolvedSchedule, text_or_null(line.schedule));
  put(FigureId::Configuration, text_or_null(line.configuration));
  put(FigureId::RestsOn, line.rests_on.empty() ? Detail() : Detail(basis_record(line.rests_on)));
  for (std::size_t i = 0; i < summary.columns.size(); ++i) {
    if (find_key(record, summary.columns[i]) == nullptr) record.emplace_back(summary.columns[i], line.extra[i]);
  }
  return record;
}

Detail::Record contender_record(const Contender& contender) {
  return {{"name", contender.name},
          {"planner", contender.planner},
          {"label", text_or_null(contender.label)},
          {"choices", contender.choices}};
}

Detail::Record claims_record(const Claims& claims) {
  return {{"plans", whole(claims.plans)},
          {"mean_error", or_null(claims.mean_error)},
          {"worst_error", or_null(claims.worst_error)},
          {"rank_correlation", or_null(claims.rank_correlation)},
          {"compared", whole(claims.compared)},
          {"regret", or_null(claims.regret)},
          {"worst_regret", or_null(claims.worst_regret)},
          {"over_bound", or_null(claims.over_bound)}};
}

Detail::Record overall_record(const StudySummary& summary, const OverallLine& line) {
  const auto [lowest, highest] = std::ranges::minmax_element(line.speed_ups);
  const bool any = !line.speed_ups.empty();
  return {{"name", summary.contenders[line.contender].name},
          {"speed_up", line.speed_up ? Detail(line.speed_up->mean) : Detail()},
          {"lowest_speed_up", any ? Detail(*lowest) : Detail()},
          {"highest_speed_up", any ? Detail(*highest) : Detail()},
          {"groups_compared", whole(line.speed_ups.size())},
          {"groups", whole(line.groups)},
          {"groups_won", whole(line.groups_won)},
          {"claims", claims_record(line.claims)},
          {"rests_on", line.rests_on.empty() ? Detail() : Detail(basis_record(line.rests_on))},
          {"cells", counts_record(line.counts)}};
}

Detail::Record group_record(const StudySummary& summary, const StudyGroup& group) {
  Detail::List lines;
  for (const StudyLine& line : group.lines) {
    Detail::Record record{{"name", summary.contenders[line.contender].name}};
    for (auto& entry : line_record(summary, line)) record.push_back(std::move(entry));
    lines.emplace_back(std::move(record));
  }
  return {{"keys", group.keys}, {"lines", std::move(lines)}};
}

/// The first columns of a line: the keys that are the same in all cells, the keys of the group, and the contender.
Detail::Record line_keys(const StudySummary& summary, const StudyGroup& group, const Contender& contender) {
  Detail::Record record{{"study", summary.study}};
  record.insert(record.end(), summary.constant.begin(), summary.constant.end());
  record.insert(record.end(), group.keys.begin(), group.keys.end());
  for (auto& entry : contender_record(contender)) record.push_back(std::move(entry));
  return record;
}

std::string csv_of_lines(const StudySummary& summary) {
  std::vector<Detail::Record> lines;
  for (const StudyGroup& group : summary.groups) {
    for (const StudyLine& line : group.lines) {
      Detail::Record& record = lines.emplace_back(line_keys(summary, group, summary.contenders[line.contender]));
      for (auto& [name, value] : line_record(summary, line)) {
        const bool is_text = name == kRestsOn && value != Detail();
        record.emplace_back(name, is_text ? Detail(origins_text(line.rests_on)) : rounded(std::move(value)));
      }
    }
  }
  return csv_text({}, lines);
}

}  // namespace

Detail::Record study_record(const StudySummary& summary) {
  Detail::List contenders;
  for (const Contender& contender : summary.contenders) contenders.emplace_back(contender_record(contender));
  Detail::List overall;
  for (const OverallLine& line : summary.overall) overall.emplace_back(overall_record(summary, line));
  Detail::List groups;
  for (const StudyGroup& group : summary.groups) groups.emplace_back(group_record(summary, group));
  Detail::List tables;
  for (const CrossTable& table : summary.tables) tables.emplace_back(table_record(table));
  Detail::List reasons;
  for (const StudyReason& reason : summary.reasons) {
    reasons.emplace_back(Detail::Record{
        {"status", to_string(reason.status)}, {"message", reason.message}, {"cells", whole(reason.count)}});
  }
  Detail::List columns;
  for (const std::string& column : summary.columns) columns.emplace_back(column);
  Detail::List notes;
  for (const std::string& note : summary.notes) notes.emplace_back(note);
  return {{"study", summary.study},
          {"cells", whole(summary.cells)},
          {"rows", whole(summary.rows)},
          {"seeds", whole(summary.seeds)},
          {"status", counts_record(summary.counts)},
          {"constant", summary.constant},
          {"baseline", or_null(summary.baseline)},
          {"columns", std::move(columns)},
          {"planners", std::move(contenders)},
          {"overall", std::move(overall)},
          {"groups", std::move(groups)},
          {"tables", std::move(tables)},
          {"reasons", std::move(reasons)},
          {"notes", std::move(notes)},
          {"rests_on", ranges_record(summary.rests_on)}};
}

std::string study_page(const StudySummary& summary, const std::vector<PlanningTimes>& times, Detail::List timelines) {
  Detail::Record data{{"text", to_text(study_document(summary, times))},
                      {"report", study_record(summary)},
                      {"timelines", std::move(timelines)}};
  return text_of([&](const TextSink& sink) { write_page(Page::Study, std::move(data), sink); });
}

std::string study_csv(const StudySummary& summary) {
  if (summary.tables.empty()) return csv_of_lines(summary);
  std::vector<std::string> columns{"study", "table"};
  for (const CrossTable& table : summary.tables) {
    for (const auto* keys : {&table.choice.rows, &table.choice.columns}) {
      for (const std::string& key : *keys) {
        if (std::ranges::find(columns, key) == columns.end()) columns.push_back(key);
      }
    }
  }
  std::vector<Detail::Record> lines;
  for (const CrossTable& table : summary.tables) {
    for (const Detail& place : table_places(table)) {
      const auto& parts = std::get<Detail::Record>(place.value);
      Detail::Record& line =
          lines.emplace_back(Detail::Record{{"study", summary.study}, {"table", table_heading(table)}});
      for (const auto& [key, value] : std::get<Detail::Record>(find_key(parts, "keys")->value)) {
        line.emplace_back(key, value);
      }
      for (const auto& [name, value] : parts) {
        if (name != "keys") line.emplace_back(name, rounded(value));
      }
    }
  }
  return csv_text(std::move(columns), lines);
}

}  // namespace stagecraft
