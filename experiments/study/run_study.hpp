#pragma once

#include "experiments/run/settings.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/results.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// One part of a study that is divided among machines: the `part`-th of `parts`, counted from 1.
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
  std::vector<Keys> filters;  ///< only cells that match, for each key that is given, one of its values
};

/// The outcome of a run.
struct StudyRun {
  Results results;
  std::size_t wanted = 0;  ///< cells that had to be run
  bool is_interrupted = false;
};

/// Runs the missing cells of a study. Writes the result files unless only a shard is run.
/// **Throws** InputError as `require_slurm`, `StudyFolder` and `load_results`.
[[nodiscard]] StudyRun run_study(const Manifest& manifest, const RunChoices& choices, const Settings& settings);

/// Whether a cell passes the filters: for each key in them, one of the given values.
[[nodiscard]] bool is_wanted(const Keys& keys, const std::vector<Keys>& filters);

/// The outcome of a trial of a few cells.
struct Trial {
  Seconds cell;                        ///< mean time of a cell on this machine
  std::optional<std::string> failure;  ///< the first cell that failed, and why
};

/// Runs a few of the cells without keeping their rows. Returns none if there are no cells.
/// **Cost** a few seconds, or the time limit of one cell.
[[nodiscard]] std::optional<Trial> try_cells(const Manifest& manifest, const std::vector<std::size_t>& cells);

}  // namespace stagecraft
