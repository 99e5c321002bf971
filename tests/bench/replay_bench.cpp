// Speed of replay, in CPU time of parent and child together.
#include "sim/replay/replay.hpp"
#include "tests/replay/pipelines.hpp"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>

namespace stagecraft {
namespace {

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_seconds() { return cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN); }

double largest_mebibytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// Arguments: stages, microbatches, whether a timeline is wanted.
void replay_1f1b(benchmark::State& state) {
  const test::OneFOneB pipeline{static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1))};
  const Platform platform = test::star(pipeline.stages, BytesPerSecond(25e9), Seconds(4e-6));
  ReplayOptions options;
  options.use = pipeline.use();
  options.measurement = pipeline.measurement();
  options.timeline = state.range(2) != 0;
  double cpu = 0.0;
  Seconds makespan;
  for (auto _ : state) {
    const double before = cpu_seconds();
    const ReplayOutcome outcome = replay(platform, [&] { return test::source_of(pipeline); }, {}, options);
    const double taken = cpu_seconds() - before;
    state.SetIterationTime(taken);
    cpu += taken;
    makespan = outcome.report.iterations.back();
  }
  const double replays = static_cast<double>(state.iterations());
  state.counters["makespan_s"] = makespan.value();
  state.counters["ops_per_cpu_s"] = replays * static_cast<double>(pipeline.operations()) / cpu;
  state.counters["replays_per_cpu_s"] = replays / cpu;
  state.counters["child_MiB"] = largest_mebibytes(RUSAGE_CHILDREN);
  state.counters["parent_MiB"] = largest_mebibytes(RUSAGE_SELF);
}
BENCHMARK(replay_1f1b)
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
