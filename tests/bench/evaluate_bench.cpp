// Speed of the one pass with the report's fold, over operations that are there already, and with lowering.
#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/heap_clock.hpp"
#include "sim/engine/summary.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

std::vector<OpGraph> windows_of(const OpSource& source) {
  std::vector<OpGraph> windows;
  while (std::optional<OpGraph> window = source.next({})) windows.push_back(std::move(*window));
  return windows;
}

OpSource source_of(std::vector<OpGraph> windows, bool one_pass) {
  return {[windows = std::move(windows), next = std::size_t{0}](const Observation&) mutable -> std::optional<OpGraph> {
            if (next == windows.size()) return std::nullopt;
            return std::move(windows[next++]);
          },
          one_pass};
}

/// Arguments: stages, microbatches, whether in one pass. Making the operations is not timed.
void evaluate_1f1b(benchmark::State& state) {
  const auto stages = static_cast<std::size_t>(state.range(0));
  const bool one_pass = state.range(2) != 0;
  const Platform platform = testing::pairwise(stages, 25e9, 4e-6);
  const LayerGraph graph = testing::chain(stages, 0.001, 0.002, 1 << 20, 1 << 20, 1 << 20);
  const Plan plan = testing::straight(stages, state.range(1), "1f1b");
  const LoweredRun lowered = lower(graph, platform, require_schedule(graph, platform, plan));
  const std::vector<OpGraph> windows = windows_of(lowered.source);
  std::uint64_t operations = 0;
  for (auto _ : state) {
    state.PauseTiming();
    OpSource source = source_of(windows, one_pass);
    state.ResumeTiming();
    Summary summary(platform, lowered.measurement, !one_pass);
    evaluate(platform, announced_to(summary, std::move(source)), {},
             [&summary](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
               summary.add(span, op, deltas);
             });
    const Report report = summary.finish();
    operations += report.operations;
    benchmark::DoNotOptimize(report.bubble_ratio);
  }
  state.counters["ops_per_cpu_s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK(evaluate_1f1b)->Args({8, 32, 1})->Args({64, 512, 1})->Args({256, 1024, 1})->Args({256, 1024, 0});

/// Arguments: stages, microbatches. From the plan on.
void evaluate_plan_1f1b(benchmark::State& state) {
  const auto stages = static_cast<std::size_t>(state.range(0));
  const Platform platform = testing::pairwise(stages, 25e9, 4e-6);
  const LayerGraph graph = testing::chain(stages, 0.001, 0.002, 1 << 20, 1 << 20, 1 << 20);
  const Plan plan = testing::straight(stages, state.range(1), "1f1b");
  std::uint64_t operations = 0;
  for (auto _ : state) operations += evaluate_plan(graph, platform, plan).operations;
  state.counters["ops_per_cpu_s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK(evaluate_plan_1f1b)->Args({8, 32})->Args({64, 512})->Args({256, 1024});

}  // namespace
}  // namespace stagecraft

BENCHMARK_MAIN();
