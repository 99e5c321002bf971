#pragma once

#include "experiments/study/results.hpp"
#include "tests/experiments/commands/shell.hpp"

#include <filesystem>
#include <string>

namespace stagecraft::test {

/// Writes `study.yaml`, a study of ten quick cells for each seed, with noise; two of ten have no plan.
inline void write_noisy_study(const TemporaryFolder& folder, int seeds) {
  write(folder / "noise.yaml", R"(schema: stagecraft/events/1
events: [{at: 0 s, jitter: {sigma: 0.05, seed: 3}}]
)");
  write(folder / "study.yaml", R"(schema: stagecraft/study/1
study: noisy
base: {model: vgg16, platform: p3.8xlarge-x4, microbatches: 16, schedule: 1f1b, events: ./noise.yaml}
matrix:
  planner: [uniform, data-parallel]
  microbatch_size: [1, 2, 4, 8, 1000]
seeds: {count: )" + std::to_string(seeds) +
                                   "}\n");
}

/// All that must not differ between runs of a study: every row by cell, without timings.
inline std::string rows_text(const std::string& folder) {
  const Results results = load_results({folder});
  std::string text;
  for (const CellResult& result : results.rows) {
    Row row = result.row;
    row.timings.clear();
    text += std::to_string(result.index) + " " + to_line(row) + "\n";
  }
  return text;
}

/// The rows as `rows_text`, and the table for people and programs as it lies in the folder.
inline std::string all_results(const std::string& folder) {
  return rows_text(folder) + content_of((std::filesystem::path(folder) / "results.csv").string());
}

/// Starts a run with two workers, kills the parent or one of them with SIGKILL after a while, and resumes it.
/// Returns what the resumed run said. **Requires** `$D/study.yaml`.
inline ShellRun kill_and_resume(const TemporaryFolder& folder, bool parent, int milliseconds) {
  const std::string wait = "sleep " + std::to_string(static_cast<double>(milliseconds) / 1000.0);
  const std::string victim = parent ? "$P" : "$(ps -o pid= --ppid $P | head -n 1)";
  return shell("$S run $D/study.yaml --out $D/out --workers 2 >$D/first & P=$!; " + wait + "; kill -9 " + victim +
                   " 2>/dev/null; wait $P 2>/dev/null; $S run $D/study.yaml --out $D/out --workers 2 --resume",
               folder.path());
}

}  // namespace stagecraft::test
