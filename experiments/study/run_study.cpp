#include "experiments/study/run_study.hpp"

#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/cell_runner.hpp"
#include "experiments/study/interrupt_watch.hpp"
#include "experiments/study/local_executor.hpp"
#include "experiments/study/result_files.hpp"
#include "experiments/study/slurm_study.hpp"
#include "experiments/study/study_folder.hpp"
#include "sim/base/activity.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace stagecraft {
namespace {

std::vector<std::size_t> cells_to_run(const Manifest& manifest, const RunChoices& choices) {
  std::vector<std::size_t> cells = missing_cells(choices.folder, manifest);
  std::erase_if(cells, [&](std::size_t i) {
    const bool is_of_shard = !choices.shard || i % choices.shard->parts == choices.shard->part - 1;
    return !is_of_shard || !is_wanted(manifest.cells[i].cell.keys, choices.filters);
  });
  return cells;
}

/// Runs the cells with the chosen executor. Returns false if it was interrupted.
bool run_cells(const Manifest& manifest, const std::vector<std::size_t>& cells, const RunChoices& choices,
               const Settings& settings) {
  const InterruptWatch watch;
  Activity activity("running the study");
  const auto show = [&](const StudyProgress& progress) {
    activity.count(progress.done, progress.total, "cells");
    activity.count_failed(progress.failed);
  };
  const auto should_stop = [] { return InterruptWatch::is_interrupted(); };
  if (choices.executor == ExecutorChoice::Slurm) {
    return run_on_slurm(choices.folder, manifest, cells,
                        {choices.sbatch, choices.cells_per_task, show, settings.say, should_stop});
  }
  LocalChoices local;
  local.workers = choices.workers;
  local.progress = show;
  local.should_stop = should_stop;
  return run_locally(choices.folder, manifest, cells, local);
}

}  // namespace

bool is_wanted(const Keys& keys, const std::vector<Keys>& filters) {
  return std::ranges::all_of(filters, [&](const Keys& filter) {
    return std::ranges::any_of(filters, [&](const Keys& other) {
      return other.front().first == filter.front().first && matches(keys, other);
    });
  });
}

StudyRun run_study(const Manifest& manifest, const RunChoices& choices, const Settings& settings) {
  if (choices.executor == ExecutorChoice::Slurm) require_slurm();
  const StudyFolder folder(choices.folder, manifest, choices.resume, choices.shard.has_value());
  check_files(manifest);
  StudyRun run;
  const std::vector<std::size_t> cells = cells_to_run(manifest, choices);
  run.wanted = cells.size();
  run.is_interrupted = !run_cells(manifest, cells, choices, settings);
  run.results = load_results({choices.folder});
  if (!choices.shard) write_results(choices.folder, run.results);
  return run;
}

std::optional<Trial> try_cells(const Manifest& manifest, const std::vector<std::size_t>& cells) {
  constexpr std::size_t kSamples = 8;
  constexpr std::chrono::seconds kEnough(2);
  if (cells.empty()) return std::nullopt;
  const std::size_t step = std::max<std::size_t>(1, cells.size() / kSamples);
  CellRunner runner(manifest);
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  int count = 0;
  std::optional<std::string> failure;
  for (std::size_t i = step / 2; i < cells.size() && std::chrono::steady_clock::now() - start < kEnough;
       i += step, ++count) {
    const RowLine row = runner.run(cells[i]);
    if (failure || !is_failure(row.status)) continue;
    failure = fmt::format("cell {} ({}): {}", cells[i], to_string(row.status), parse_row(row.line)->message);
  }
  return Trial{Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count),
               std::move(failure)};
}

}  // namespace stagecraft
