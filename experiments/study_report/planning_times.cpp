#include "experiments/study_report/planning_times.hpp"

#include "experiments/study_report/contenders.hpp"

#include <algorithm>
#include <variant>

namespace stagecraft {

std::vector<PlanningTimes> planning_times(const Results& results) {
  const SortedCells sorted = sort_cells(results.manifest.cells);
  std::vector<PlanningTimes> times;
  for (const Contender& contender : sorted.contenders) times.push_back({.name = contender.name});
  for (const CellResult& result : results.rows) {
    const Detail* value = find_key(result.row.timings, "planning_time_s");
    const auto* seconds = value == nullptr ? nullptr : std::get_if<double>(&value->value);
    if (seconds == nullptr) continue;
    PlanningTimes& into = times[sorted.contender_of[result.index]];
    ++into.cells;
    into.mean_s = into.mean_s.value_or(0.0) + *seconds;  // the sum, until it is divided below
    into.longest_s = std::max(into.longest_s.value_or(0.0), *seconds);
  }
  for (PlanningTimes& of : times) {
    if (of.mean_s) of.mean_s = *of.mean_s / static_cast<double>(of.cells);
  }
  return times;
}

Detail::List planning_time_list(const std::vector<PlanningTimes>& times) {
  Detail::List list;
  for (const PlanningTimes& of : times) {
    list.emplace_back(Detail::Record{{"name", of.name},
                                     {"cells", of.cells},
                                     {"mean_s", of.mean_s ? Detail(*of.mean_s) : Detail()},
                                     {"longest_s", of.longest_s ? Detail(*of.longest_s) : Detail()}});
  }
  return list;
}

}  // namespace stagecraft
