// Speed of ordering by rounds and of executing the order, which is what a planner does for every number of stages; and
// of a long run whose order is made piece by piece.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/families/spp_pe/processing_run.hpp"
#include "tests/schedule/chains.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

namespace stagecraft {
namespace {

PipelineTimes uneven_chain(std::size_t stages) {
  PipelineTimes times;
  for (std::size_t x = 0; x < 2 * stages - 1; ++x) {
    const Seconds forward(1.0 + static_cast<double>(x * 7 % 10));
    times.resources.push_back({forward, x % 2 == 0 ? forward * 2.0 : forward});
  }
  times.alternating.assign(stages, 1);
  times.pace.resize(stages);
  times.synchronise.resize(stages);
  return times;
}

/// Arguments: the most stages, microbatches, whether strict. All numbers of stages, one after the other.
void all_stage_counts(benchmark::State& state) {
  const ProcessingSettings settings{InFlightCap::None, state.range(2) != 0, false};
  for (auto _ : state) {
    for (std::size_t stages = 1; stages <= static_cast<std::size_t>(state.range(0)); ++stages) {
      benchmark::DoNotOptimize(run_blocks(uneven_chain(stages), state.range(1), settings));
    }
  }
}
BENCHMARK(all_stage_counts)->Args({64, 256, 1})->Args({64, 256, 0})->Args({16, 32, 1})->Unit(benchmark::kMillisecond);

/// Arguments: stages, microbatches. From the plan on.
void evaluate_plan_spp_pe(benchmark::State& state) {
  const auto stages = static_cast<std::size_t>(state.range(0));
  const Platform platform = testing::pairwise(stages, 25e9, 4e-6);
  const LayerGraph graph = testing::chain(stages, 0.001, 0.002, 1 << 20, 1 << 20, 1 << 20);
  const Plan plan = testing::straight(stages, state.range(1), "spp-pe");
  std::uint64_t operations = 0;
  for (auto _ : state) operations += evaluate_plan(graph, platform, plan).operations;
  state.counters["ops_per_cpu_s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK(evaluate_plan_spp_pe)->Args({8, 32})->Args({8, 20000})->Args({8, 200000})->Args({64, 512});

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
