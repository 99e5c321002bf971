// Speed of whole replays, from the plan to the report, in CPU time of parent and child together.
#include "sim/replay/replay_plan.hpp"
#include "tests/bench/usage.hpp"
#include "tests/replay/pipelines.hpp"
#include "tests/schedule/chains.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

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
  wanted.timeline = state.range(2) != 0;
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

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
