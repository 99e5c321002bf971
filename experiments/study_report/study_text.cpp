#include "experiments/study_report/study_text.hpp"

#include "experiments/study/slurm.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kShownCells = 10;

/// Each key with its different values, in order of first appearance.
std::vector<std::pair<std::string, Detail::List>> values_by_key(const Manifest& manifest) {
  std::vector<std::pair<std::string, Detail::List>> result;
  std::map<std::string, std::set<std::string>> seen;
  for (const StudyCell& cell : manifest.cells) {
    for (const auto& [name, value] : cell.cell.keys) {
      auto found = std::ranges::find(result, name, &std::pair<std::string, Detail::List>::first);
      if (found == result.end()) found = result.insert(result.end(), {name, {}});
      Detail::List& values = found->second;
      if (!values.empty() && values.back() == value) continue;
      if (seen[name].insert(to_json(value, -1)).second) values.push_back(value);
    }
  }
  return result;
}

std::string plain_text(const Detail& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr ? *text : to_json(value, -1);
}

std::string all_values_text(const Manifest& manifest) {
  std::string text;
  for (const auto& [name, values] : values_by_key(manifest)) {
    text += "  " + name + ": ";
    for (std::size_t i = 0; i < values.size() && i < kShownCells; ++i) {
      text += (i == 0 ? "" : ", ") + plain_text(values[i]);
    }
    if (values.size() > kShownCells) text += ", … (" + std::to_string(values.size()) + " values)";
    text += "\n";
  }
  return text;
}

Seconds whole_time(const DryRun& run) {
  const auto rounds = static_cast<double>(run.cells.size()) / static_cast<double>(run.workers);
  return Seconds(run.cell->value() * std::max(rounds, run.cells.empty() ? 0.0 : 1.0));
}

/// The number of rows of each status that has any, in the order of the statuses.
std::vector<std::pair<std::string, std::size_t>> count_statuses(const Results& results) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const CellStatus status : all_statuses()) {
    const auto count =
        std::ranges::count_if(results.rows, [&](const CellResult& result) { return result.row.status == status; });
    if (count > 0) counts.emplace_back(to_string(status), static_cast<std::size_t>(count));
  }
  return counts;
}

/// A line with the message of the first cell that failed.
std::string failure_text(const Results& results) {
  for (const CellResult& result : results.rows) {
    if (!is_failure(result.row.status)) continue;
    return fmt::format("first failure, cell {} ({}): {}\n", result.index, to_string(result.row.status),
                       result.row.message);
  }
  return "";
}

}  // namespace

std::string dry_run_text(const DryRun& run) {
  const Manifest& manifest = run.manifest;
  std::string text = "study " + quote(manifest.study) + ": " + counted(manifest.cells.size(), "cell");
  if (run.cells.size() != manifest.cells.size()) text += ", of which " + std::to_string(run.cells.size()) + " to run";
  if (run.repeated > 0) text += "; " + counted(run.repeated, "equal combination") + " left out";
  text += "\n" + all_values_text(manifest);
  for (std::size_t i = 0; i < run.cells.size() && i < kShownCells; ++i) {
    const StudyCell& cell = manifest.cells[run.cells[i]];
    text += fmt::format("{}  seed {}  {}\n", cell.key.substr(0, 12), cell.cell.seed, to_json(cell.cell.keys, -1));
  }
  if (run.cells.size() > kShownCells) text += "… (--json lists all)\n";
  if (run.cell) {
    text += "about " + format_human_seconds(whole_time(run)) + " with " +
            counted(static_cast<std::size_t>(run.workers), "worker") +
            ", if all cells take as long as the few that were tried: " + format_human_seconds(*run.cell) + " each\n";
  }
  return text;
}

Detail::Record dry_run_record(const DryRun& run) {
  Detail::List cells;
  for (const std::size_t i : run.cells) {
    const StudyCell& cell = run.manifest.cells[i];
    cells.emplace_back(Detail::Record{{"cell", static_cast<std::int64_t>(i)},
                                      {"key", cell.key},
                                      {"seed", static_cast<std::int64_t>(cell.cell.seed)},
                                      {"keys", cell.cell.keys}});
  }
  Detail::Record record{{"study", run.manifest.study},
                        {"count", static_cast<std::int64_t>(run.manifest.cells.size())},
                        {"repeated", static_cast<std::int64_t>(run.repeated)},
                        {"cells", std::move(cells)}};
  if (run.cell) {
    record.emplace_back("workers", run.workers);
    record.emplace_back("estimated_time_s", whole_time(run).value());
  }
  return record;
}

std::string study_run_text(const StudyRun& run, const RunChoices& choices, const std::string& resuming) {
  const Results& results = run.results;
  std::string text = fmt::format("study {}: {} of {} in {}", quote(results.manifest.study), results.rows.size(),
                                 counted(results.manifest.cells.size(), "cell"), choices.folder);
  for (const auto& [status, count] : count_statuses(results)) text += ", " + std::to_string(count) + " " + status;
  text += "\n" + failure_text(results);
  if (run.is_interrupted) {
    text += "interrupted; continue with: " + resuming + "\n";
  } else if (choices.shard) {
    text += "when all shards are done: stagecraft collect " + shown_word(choices.folder) + "\n";
  }
  return text;
}

Detail::Record study_run_record(const StudyRun& run, const RunChoices& choices) {
  Detail::Record statuses;
  for (const auto& [status, count] : count_statuses(run.results)) {
    statuses.emplace_back(status, static_cast<std::int64_t>(count));
  }
  return {{"study", run.results.manifest.study},
          {"folder", choices.folder},
          {"cells", static_cast<std::int64_t>(run.results.manifest.cells.size())},
          {"rows", static_cast<std::int64_t>(run.results.rows.size())},
          {"run_now", static_cast<std::int64_t>(run.wanted)},
          {"statuses", std::move(statuses)},
          {"interrupted", run.is_interrupted}};
}

}  // namespace stagecraft
