#pragma once

#include "experiments/run/settings.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/results.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// One part of a study that is shared out among machines: the `part`-th of `parts`, counted from 1.
struct ShardChoice {
  std::size_t part = 1;
  std::size_t parts = 1;
};

enum class ExecutorChoice { Local, Slurm };

struct RunChoices {
  std::string folder;
  bool resume = false;
  ExecutorChoice executor = ExecutorChoice::Local;
  int workers = 1;
  std::vector<std::string> sbatch;  ///< options of `sbatch`
  std::size_t cells_per_task = 50;  ///< of Slurm, at least
  std::optional<ShardChoice> shard;
  std::vector<Keys> filters;  ///< only cells that match one of the values given for each key
};

/// What came of a run.
struct StudyRun {
  Results results;
  std::size_t wanted = 0;  ///< cells that had to be run
  bool is_interrupted = false;
};

/// Runs what is missing of a study, and writes the results unless this is one shard of several.
/// **Throws** InputError as `require_slurm`, `StudyFolder` and `load_results`.
[[nodiscard]] StudyRun run_study(const Manifest& manifest, const RunChoices& choices, const Settings& settings);

/// Whether the filters take a cell.
[[nodiscard]] bool is_wanted(const Keys& keys, const std::vector<Keys>& filters);

/// What a few cells showed.
struct Trial {
  Seconds cell;                        ///< how long one takes on this machine
  std::optional<std::string> failure;  ///< which cell failed first, and why
};

/// Runs a few of the cells now without keeping anything; none without cells.
/// **Cost** a few seconds, or the time limit of one cell.
[[nodiscard]] std::optional<Trial> try_cells(const Manifest& manifest, const std::vector<std::size_t>& cells);

}  // namespace stagecraft
