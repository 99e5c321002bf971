// Speed of studies: cells through the local executor, what a cell costs besides its own work, and expansion.
#include "experiments/study/local_executor.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/study_file.hpp"
#include "tests/bench/usage.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

std::string study_text(int stages, int seeds) {
  return "schema: stagecraft/study/1\nstudy: bench\n"
         "base: {model: bert-large, platform: dgx-1-v100, schedule: 1f1b, microbatches: 32}\n"
         "matrix:\n  planner: [{name: uniform, stages: " +
         std::to_string(stages) +
         "}]\n"
         "  microbatch_size: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nseeds: {count: " +
         std::to_string(seeds) + "}\n";
}

Manifest manifest_of(const std::string& text) {
  const Study study = parse_study(text, "bench.yaml");
  return make_manifest(study, expand(study), {});
}

/// 3000 cells, one worker; seconds are CPU time of this process and of all its children.
void run_cells(benchmark::State& state) {
  const Manifest manifest = manifest_of(study_text(static_cast<int>(state.range(0)), 300));
  std::vector<std::size_t> cells(manifest.cells.size());
  std::iota(cells.begin(), cells.end(), std::size_t{0});
  double seconds = 0;
  std::size_t count = 0;
  for (auto _ : state) {
    std::string folder = (std::filesystem::temp_directory_path() / "stagecraft-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) state.SkipWithError("no folder");
    const double before = bench::cpu_seconds();
    if (!run_locally(folder, manifest, cells, {})) state.SkipWithError("stopped");
    seconds += bench::cpu_seconds() - before;
    count += cells.size();
    std::filesystem::remove_all(folder);
  }
  state.counters["cells_per_cpu_s"] = static_cast<double>(count) / seconds;
  state.counters["cpu_ms_per_cell"] = 1e3 * seconds / static_cast<double>(count);
}
// 8 stages: plan, evaluate and replay 32 microbatches. 1000 stages: refused at once, so what is left is the executor.
BENCHMARK(run_cells)->Arg(8)->Arg(1000)->Unit(benchmark::kMillisecond);

void expand_ten_thousand(benchmark::State& state) {
  const std::string text = study_text(8, 1000);
  for (auto _ : state) benchmark::DoNotOptimize(manifest_of(text).cells.size());
}
BENCHMARK(expand_ten_thousand)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
