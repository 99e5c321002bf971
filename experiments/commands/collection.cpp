#include "experiments/commands/collection.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

using Counts = std::map<CellStatus, std::int64_t>;

/// The number of rows of every status; 0 for a status that no row has.
Counts count_statuses(const Results& results) {
  Counts counts;
  for (const CellStatus status : all_statuses()) counts[status] = 0;
  for (const CellResult& result : results.rows) ++counts[result.row.status];
  return counts;
}

std::string counts_text(const Counts& counts) {
  std::string text;
  for (const auto& [status, count] : counts) {
    if (count > 0) text += (text.empty() ? ": " : ", ") + std::to_string(count) + ' ' + to_string(status);
  }
  return text;
}

std::string missing_text(const std::vector<std::size_t>& missing) {
  if (missing.empty()) return {};
  return counted(missing.size(), "cell") + (missing.size() == 1 ? " has" : " have") +
         " no row yet: " + ranges_text(missing) +
         "\n  collect their shards too, or run the study again with --resume\n";
}

std::string answer_text(const Results& results, const Counts& counts, const std::vector<std::string>& files) {
  std::string text =
      fmt::format("study {}: {} of {} {}{}\n{}", quote(results.manifest.study), results.rows.size(),
                  counted(results.manifest.cells.size(), "cell"), results.rows.size() == 1 ? "has a row" : "have rows",
                  counts_text(counts), missing_text(missing_cells(results)));
  for (const std::string& file : files) text += "written: " + file + '\n';
  return text;
}

template <class Values>
Detail::List list_of(const Values& values) {
  Detail::List list;
  for (const auto& value : values) list.emplace_back(value);
  return list;
}

Detail::Record answer_record(const Results& results, const Counts& counts, const std::vector<std::string>& files) {
  Detail::Record statuses;
  for (const auto& [status, count] : counts) statuses.emplace_back(to_string(status), count);
  Detail::List missing;
  for (const std::size_t index : missing_cells(results)) missing.emplace_back(static_cast<std::int64_t>(index));
  return {{"study", results.manifest.study},
          {"cells", static_cast<std::int64_t>(results.manifest.cells.size())},
          {"rows", static_cast<std::int64_t>(results.rows.size())},
          {"complete", results.is_complete()},
          {"statuses", std::move(statuses)},
          {"missing", std::move(missing)},
          {"warnings", list_of(results.warnings)},
          {"files", list_of(files)}};
}

}  // namespace

std::vector<std::size_t> missing_cells(const Results& results) {
  std::vector<std::size_t> missing;
  auto row = results.rows.begin();
  for (std::size_t i = 0; i < results.manifest.cells.size(); ++i) {
    if (row != results.rows.end() && row->index == i) {
      ++row;
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

std::string ranges_text(const std::vector<std::size_t>& numbers, std::size_t most) {
  std::string text;
  std::size_t groups = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    if (groups++ == most) return text + " and " + std::to_string(numbers.size() - i) + " more";
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

Answer collection_answer(const Results& results, const std::vector<std::string>& files) {
  const Counts counts = count_statuses(results);
  const bool failed = std::ranges::any_of(results.rows, [](const CellResult& r) { return is_failure(r.row.status); });
  return {.text = answer_text(results, counts, files),
          .json = to_json(answer_record(results, counts, files)),
          .code = failed ? ExitCode::FailedRows : ExitCode::Done};
}

}  // namespace stagecraft
