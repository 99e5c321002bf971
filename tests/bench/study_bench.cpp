// Speed of studies: cells through the local executor, what a cell costs besides its own work, and expansion.
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/local_executor.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/study/study_file.hpp"
#include "sim/base/child_process.hpp"
#include "tests/bench/usage.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

std::string study_text(const std::string& base, int seeds) {
  return "schema: stagecraft/study/1\nstudy: bench\n"
         "base: {model: bert-large, microbatches: 32, " +
         base +
         "}\n"
         "matrix: {microbatch_size: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\nseeds: {count: " +
         std::to_string(seeds) + "}\n";
}

Manifest manifest_of(const std::string& text) {
  const Study study = parse_study(text, "bench.yaml");
  return make_manifest(study, expand(study), {});
}

std::string new_folder(benchmark::State& state) {
  std::string folder = (std::filesystem::temp_directory_path() / "stagecraft-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) state.SkipWithError("no folder");
  return folder;
}

/// CPU seconds of all the cells through the local executor, one worker: of this process and of all its children.
double executor_seconds(benchmark::State& state, const Manifest& manifest) {
  std::vector<std::size_t> cells(manifest.cells.size());
  std::iota(cells.begin(), cells.end(), std::size_t{0});
  const std::string folder = new_folder(state);
  const double before = bench::cpu_seconds();
  if (!run_locally(folder, manifest, cells, {})) state.SkipWithError("stopped");
  const double seconds = bench::cpu_seconds() - before;
  std::filesystem::remove_all(folder);
  return seconds;
}

void run_all(const Manifest& manifest, std::size_t first, std::size_t last, const Inputs& inputs) {
  for (std::size_t i = first; i < last; ++i) {
    const StudyCell& cell = manifest.cells[i];
    benchmark::DoNotOptimize(to_line(run_cell(manifest, cell.key, read_cell(cell.cell), inputs)));
  }
}

/// CPU seconds of the work of all the cells: the same call, one after another in one process.
double seconds_in_one_process(const Manifest& manifest, const Inputs& inputs) {
  const double before = bench::cpu_seconds();
  run_all(manifest, 0, manifest.cells.size(), inputs);
  return bench::cpu_seconds() - before;
}

/// The same for cells that can be run once per process: each in a child, which measures itself.
double seconds_in_children(const Manifest& manifest, const Inputs& inputs) {
  double seconds = 0;
  for (std::size_t i = 0; i < manifest.cells.size(); ++i) {
    ChildProcess child([&](FrameSender& sender) {
      const double before = bench::own_cpu_seconds();
      run_all(manifest, i, i + 1, inputs);
      sender.send(0, std::to_string(bench::own_cpu_seconds() - before));
    });
    seconds += std::stod(child.receive().value_or(Frame{0, "0"}).bytes);
  }
  return seconds;
}

enum class Processes { Shared, Own };

/// 3000 cells. The overhead is what the executor takes besides the cells' own work.
void run_cells(benchmark::State& state, const std::string& base, Processes processes) {
  const Manifest manifest = manifest_of(study_text(base, 300));
  const Inputs inputs = load_inputs(manifest, read_cell(manifest.cells.front().cell));
  double total = 0;
  double own = 0;
  std::size_t count = 0;
  for (auto _ : state) {
    total += executor_seconds(state, manifest);
    own += processes == Processes::Shared ? seconds_in_one_process(manifest, inputs)
                                          : seconds_in_children(manifest, inputs);
    count += manifest.cells.size();
  }
  const double per_cell = 1e3 / static_cast<double>(count);
  state.counters["cells_per_cpu_s"] = static_cast<double>(count) / total;
  state.counters["total_ms"] = total * per_cell;
  state.counters["own_ms"] = own * per_cell;
  state.counters["overhead_ms"] = (total - own) * per_cell;
}
// Refused at once, so that what is left is the executor.
BENCHMARK_CAPTURE(run_cells, refused, "platform: dgx-1-v100, planner: {name: uniform, stages: 1000}", Processes::Shared)
    ->Unit(benchmark::kMillisecond);
// Plan, evaluate and replay: 8 stages, no transfer ever meets another, so SimGrid is not started.
BENCHMARK_CAPTURE(run_cells, apart, "platform: dgx-1-v100, planner: {name: uniform, stages: 8}", Processes::Shared)
    ->Unit(benchmark::kMillisecond);
// The same with transfers that meet on the nodes' network cards: each cell that is replayed needs a process of its own.
BENCHMARK_CAPTURE(run_cells, meeting, "platform: p3.8xlarge-x4, planner: hetpipe", Processes::Own)
    ->Unit(benchmark::kMillisecond);

void expand_ten_thousand(benchmark::State& state) {
  const std::string text = study_text("platform: dgx-1-v100, planner: uniform", 1000);
  for (auto _ : state) benchmark::DoNotOptimize(manifest_of(text).cells.size());
}
BENCHMARK(expand_ten_thousand)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
