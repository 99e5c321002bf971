#pragma once

#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

/// The progress of a run.
struct StudyProgress {
  std::size_t total = 0;
  std::size_t done = 0;
  std::size_t failed = 0;  ///< of those done
};

struct LocalChoices {
  int workers = 1;
  std::string shard_prefix = "local";
  /// Called after each cell, and ten times a second.
  std::function<void(const StudyProgress&)> progress = [](const StudyProgress&) {};
  std::function<bool()> should_stop = [] { return false; };  ///< called as often
};

/// Runs cells of a study in worker processes, which write their rows to shards below `folder`. Cells that crash or run
/// out of time are run again at the end, one at a time, as often as the study's limits say. Returns false if it was
/// told to stop; the rows written so far are kept.
/// **Throws** InputError if a worker cannot write, and InternalError if workers keep dying without taking a cell.
/// **Cost** about 1 ms of CPU time per process in which cells run (`CellRunner`), besides the cells' own work. Most of
/// it is the system's cost of a fork, because SimGrid brings thirty libraries (tests/bench/study_bench.cpp).
[[nodiscard]] bool run_locally(const std::string& folder, const Manifest& manifest,
                               const std::vector<std::size_t>& cells, const LocalChoices& choices);

}  // namespace stagecraft
