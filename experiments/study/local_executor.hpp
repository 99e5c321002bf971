#pragma once

#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stagecraft {

/// How far a run has come.
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
  std::function<bool()> should_stop = [] { return false; };  ///< asked as often
};

/// Runs cells of a study in worker processes, which write their rows to shards below `folder`. Cells that crash or run
/// out of time are run again at the end, alone, as often as the study's limits say. False if it was told to stop; what
/// is done by then is kept.
/// **Throws** InputError if a worker cannot write, and InternalError if workers die without a cell to blame.
/// **Cost** one process per cell: about 1 ms of CPU time besides the cell's own work, most of it the system's for a
/// process that has SimGrid's thirty libraries (tests/bench/study_bench.cpp).
[[nodiscard]] bool run_locally(const std::string& folder, const Manifest& manifest,
                               const std::vector<std::size_t>& cells, const LocalChoices& choices);

}  // namespace stagecraft
