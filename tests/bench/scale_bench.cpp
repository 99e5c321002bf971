// Thousands of devices: building the platform, replicated pipelines with all-reduce, and transfers that all meet in
// oversubscribed switches. CPU time of parent and child together.
#include "sim/replay/replay_plan.hpp"
#include "tests/bench/usage.hpp"
#include "tests/replay/clusters.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

namespace stagecraft {
namespace {

/// Argument: nodes of eight devices.
void build_cluster(benchmark::State& state) {
  for (auto _ : state) {
    const Platform platform = test::cluster_of_eights(static_cast<std::uint32_t>(state.range(0)));
    benchmark::DoNotOptimize(platform.links.size());
  }
}
BENCHMARK(build_cluster)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

/// Arguments: replicas of each of 8 stages, whether the nodes hang on an oversubscribed fat tree. 16 microbatches each.
void replay_replicated(benchmark::State& state) {
  const auto replicas = static_cast<std::uint32_t>(state.range(0));
  const Platform platform = state.range(1) != 0 ? test::cluster_of_eights(replicas, test::half_fat_tree())
                                                : test::cluster_of_eights(replicas);
  const LayerGraph graph = test::layers_for(8);
  const Plan plan = test::replicated(8, replicas, 16);
  std::uint64_t operations = 0;
  for (auto _ : state) {
    const double before = bench::cpu_seconds();
    operations = replay_plan(graph, platform, plan).report.operations;
    state.SetIterationTime(bench::cpu_seconds() - before);
  }
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["child_MiB"] = bench::largest_child_mebibytes();
}
BENCHMARK(replay_replicated)->ArgsProduct({{512, 2048}, {0, 1}})->UseManualTime()->Unit(benchmark::kMillisecond);

/// Arguments: nodes of eight devices, whether they hang on an oversubscribed fat tree. Each device sends to one picked
/// at random.
void replay_random_exchange(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const Platform platform =
      state.range(1) != 0 ? test::cluster_of_eights(nodes, test::half_fat_tree()) : test::cluster_of_eights(nodes);
  test::Work work(8 * nodes);
  for (const test::FluidTransfer& transfer : test::random_exchange(8 * nodes, 1)) {
    work.send(transfer.from, transfer.to, transfer.bytes);
  }
  const OpGraph graph = work.finished();
  Seconds makespan;
  for (auto _ : state) {
    const double before = bench::cpu_seconds();
    const ReplayOutcome outcome = replay(platform, [&] { return single_window(graph); }, {}, {});
    state.SetIterationTime(bench::cpu_seconds() - before);
    makespan = outcome.report.iterations.back();
  }
  state.counters["makespan_s"] = makespan.value();
}
BENCHMARK(replay_random_exchange)->ArgsProduct({{128, 512}, {0, 1}})->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
