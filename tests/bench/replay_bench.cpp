// Speed of whole replays, from the plan to the report, in CPU time of parent and child together.
#include "sim/replay/replay_plan.hpp"
#include "tests/bench/usage.hpp"
#include "tests/replay/pipelines.hpp"
#include "tests/replay/switching.hpp"
#include "tests/schedule/chains.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {
namespace {

/// Arguments: stages, microbatches, whether a timeline is wanted. From the plan on: process, engine, lowering, report.
void replay_plan_1f1b(benchmark::State& state) {
  const auto stages = static_cast<std::size_t>(state.range(0));
  const Platform platform = test::star(static_cast<std::uint32_t>(stages), BytesPerSecond(25e9), Seconds(4e-6));
  LayerGraph graph = testing::chain(stages, 0.01, 0.02, 1000000, 1000000, 1000000);
  graph.device_kind = platform.spec.device_kinds[DeviceKindId(0)].name;
  const Plan plan = testing::straight(stages, state.range(1), "1f1b");
  ReplayOptions wanted;
  wanted.record = state.range(2) != 0 ? RecordPart::All : RecordPart::None;
  double cpu = 0.0;
  std::uint64_t operations = 0;
  Seconds makespan;
  for (auto _ : state) {
    const double before = bench::cpu_seconds();
    const ReplayOutcome outcome = replay_plan(graph, platform, plan, {}, {}, wanted);
    const double taken = bench::cpu_seconds() - before;
    state.SetIterationTime(taken);
    cpu += taken;
    operations += outcome.report.operations;
    makespan = outcome.report.iterations.back();
  }
  state.counters["makespan_s"] = makespan.value();
  state.counters["ops_per_cpu_s"] = static_cast<double>(operations) / cpu;
  state.counters["replays_per_cpu_s"] = static_cast<double>(state.iterations()) / cpu;
  state.counters["child_MiB"] = bench::largest_child_mebibytes();
  state.counters["parent_MiB"] = bench::largest_mebibytes();
}
BENCHMARK(replay_plan_1f1b)
    ->Args({1, 1, 0})
    ->Args({8, 32, 0})
    ->Args({64, 512, 0})
    ->Args({256, 1024, 0})
    ->Args({256, 1024, 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// Arguments: microbatches, changes of the plan. Sixteen stages of two layers; at each change every second stage gets a
/// layer of its neighbour, or gives it back, while training goes on.
void replay_live_replans(benchmark::State& state) {
  constexpr std::size_t kStages = 16;
  const std::int64_t changes = state.range(1);
  const Platform platform = test::star(kStages, BytesPerSecond(25e9), Seconds(4e-6));
  LayerGraph graph = testing::chain(2 * kStages, 0.01, 0.02, 1000000, 1000000, 1000000);
  graph.device_kind = platform.spec.device_kinds[DeviceKindId(0)].name;
  std::vector<std::size_t> even;
  std::vector<std::size_t> moved;
  for (std::size_t s = 1; s < kStages; ++s) {
    even.push_back(2 * s);
    moved.push_back(2 * s + s % 2);
  }
  const Plan plan = testing::cut_at(even, 2 * kStages, state.range(0));
  std::vector<testing::Following> later;
  for (std::int64_t k = 1; k <= changes; ++k) {
    const std::int64_t from = k * state.range(0) / (changes + 1);
    later.push_back({from, testing::cut_at(k % 2 == 1 ? moved : even, 2 * kStages, state.range(0))});
  }
  LowerOptions options = testing::switching(later, Migrating::Live);
  options.replanning->window = 256;
  double cpu = 0.0;
  std::int64_t live = 0;
  for (auto _ : state) {
    const double before = bench::cpu_seconds();
    const ReplayOutcome outcome = replay_plan(graph, platform, plan, options);
    const double taken = bench::cpu_seconds() - before;
    state.SetIterationTime(taken);
    cpu += taken;
    for (const ReplanQuestion& question : outcome.report.course.questions) live += question.live ? 1 : 0;
  }
  state.counters["live_changes"] = static_cast<double>(live) / static_cast<double>(state.iterations());
  state.counters["child_MiB"] = bench::largest_child_mebibytes();
}
BENCHMARK(replay_live_replans)->Args({100000, 0})->Args({100000, 50})->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
