#include "experiments/study_report/cell_timelines.hpp"

#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/view/run_columns.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

[[noreturn]] void refuse(const std::string& reason, const std::string& hint = "") {
  throw InputError(reason, {"", 0, 0, "--timelines"}, hint);
}

/// The keys of the cell in which the others differ from it.
Detail::Record telling_keys(const Manifest& manifest, std::size_t cell, const std::vector<std::size_t>& others) {
  Detail::Record keys;
  for (const auto& [key, value] : manifest.cells[cell].cell.keys) {
    const auto differs = [&](std::size_t other) {
      const Detail* there = find_key(manifest.cells[other].cell.keys, key);
      return there == nullptr || *there != value;
    };
    if (std::ranges::any_of(others, differs)) keys.emplace_back(key, value);
  }
  return keys;
}

Detail::Record timeline_of(const Manifest& manifest, std::size_t cell, const std::vector<std::size_t>& cells) {
  const CellSpec spec = read_cell(manifest.cells[cell].cell);
  const CellRun run = simulate_cell(manifest, spec, load_inputs(manifest, spec), CellUse::Recorded);
  if (!run.simulation) {
    refuse("cell " + std::to_string(cell) + " has no plan: " + std::get<Infeasible>(run.planning.result).reason);
  }
  const RunRecord& record = run.simulation->record;
  if (record.timeline.size() > kMostOfCells / cells.size()) {
    refuse("a page shows at most " + counted(kMostOfCells / cells.size(), "operation") + " of each cell, and cell " +
               std::to_string(cell) + " has " + std::to_string(record.timeline.size()),
           "plan it and use simulate --report");
  }
  Detail::Record timeline{{"cell", static_cast<std::int64_t>(cell)},
                          {"keys", telling_keys(manifest, cell, cells)},
                          {"model", run.planning.graph.name},
                          {"planner", spec.planner}};
  const std::vector<RunMark> marks = run_marks(*run.simulation, run.platform, {});
  Detail::Record columns = run_columns(record, marks, run.platform, spec.network == NetworkModel::Platform);
  std::ranges::move(columns, std::back_inserter(timeline));
  return timeline;
}

}  // namespace

Detail::List cell_timelines(const Results& results, const std::vector<std::size_t>& cells) {
  const Manifest& manifest = results.manifest;
  if (cells.empty()) return {};
  for (const std::size_t cell : cells) {
    if (cell < manifest.cells.size()) continue;
    refuse("the study has no cell " + std::to_string(cell),
           "its cells are 0 to " + std::to_string(manifest.cells.size() - 1));
  }
  check_files(manifest);
  Detail::List list;
  for (const std::size_t cell : cells) list.emplace_back(timeline_of(manifest, cell, cells));
  return list;
}

}  // namespace stagecraft
