#include "planners/planner.hpp"
#include "planners/registry.hpp"
#include "planners/vpipe/neighbour_moves.hpp"
#include "planners/vpipe/stage_savings.hpp"
#include "planners/vpipe/start_cuts.hpp"
#include "sim/base/ticks.hpp"
#include "tests/bench/usage.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

// vPipe's moves and savings for a chain of blocks, and the whole planner for a chain of layers.
namespace {

using namespace stagecraft;
using namespace stagecraft::vpipe;

/// Blocks of two kinds by turns, or all different, on stages of an asynchronous pipeline. Each device has three fifths
/// of the memory that keeping all would take on the first stage.
struct Blocks {
  std::vector<SavingUnit> units;
  std::vector<Bytes> parameters;
  std::size_t stages = 1;
  Bytes capacity;

  [[nodiscard]] SavingStage stage(std::size_t stage, std::size_t begin, std::size_t end) const {
    SavingStage result;
    const auto in_flight = static_cast<std::int64_t>(stages - stage);
    Bytes weights;
    for (std::size_t i = begin; i < end; ++i) weights += parameters[i];
    result.units.assign(units.begin() + static_cast<std::ptrdiff_t>(begin),
                        units.begin() + static_cast<std::ptrdiff_t>(end));
    result.budget.in_flight = in_flight;
    result.budget.resident = std::min<std::int64_t>(in_flight, 2);
    result.budget.held = weights * (in_flight + 3);
    result.budget.capacity = capacity;
    result.budget.bandwidth = 12e9;
    return result;
  }
};

Blocks blocks(std::size_t count, std::size_t stages, bool are_equal) {
  std::mt19937_64 random(1);
  const auto between = [&](std::uint64_t least, std::uint64_t most) {
    return static_cast<std::int64_t>(least + random() % (most - least + 1));
  };
  Blocks all;
  all.stages = stages;
  Bytes stash;
  Bytes weights;
  for (std::size_t i = 0; i < count; ++i) {
    const auto forward =
        static_cast<double>(are_equal ? 400 + 400 * static_cast<std::int64_t>(i % 2) : between(300, 900));
    const Bytes kept(1'000'000 * (are_equal ? 78 + 4 * static_cast<std::int64_t>(i % 2) : between(60, 100)));
    all.units.push_back({Seconds(forward * 1e-6), Seconds(2e-6 * forward), kept, Bytes(8'000'000)});
    all.parameters.push_back(Bytes(are_equal ? 16'000'000 : between(8'000'000, 32'000'000)));
    stash += kept;
    weights += all.parameters.back();
  }
  const auto share = static_cast<std::int64_t>(stages);
  const Bytes kept = stash * share + weights * (share + 3);
  all.capacity = Bytes(kept.value() / share * 3 / 5);
  return all;
}

void plan_blocks(benchmark::State& state, const SavingRules& rules) {
  const Blocks all =
      blocks(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)), state.range(2) == 0);
  std::int64_t passes = 0;
  std::int64_t evaluations = 0;
  std::int64_t repeats = 0;
  for (auto _ : state) {
    StageSavings savings(
        [&](std::size_t stage, std::size_t begin, std::size_t end) { return all.stage(stage, begin, end); }, rules);
    std::vector<Ticks> load{0};
    for (const SavingUnit& unit : all.units) load.push_back(load.back() + ticks_up(unit.forward + unit.backward));
    const std::vector<std::size_t> start =
        least_sorted_cuts(all.units.size(), all.stages,
                          [&](std::size_t, std::size_t begin, std::size_t end) { return load[end] - load[begin]; });
    const MovedUnits moved = move_units(
        start, [&](std::size_t stage, std::size_t begin, std::size_t end) { return savings.cost(stage, begin, end); });
    passes = moved.passes;
    evaluations = savings.evaluations();
    repeats = savings.repeats();
  }
  state.counters["passes"] = static_cast<double>(passes);
  state.counters["evaluations"] = static_cast<double>(evaluations);
  state.counters["repeats"] = static_cast<double>(repeats);
  state.counters["MiB"] = bench::largest_mebibytes();
}

void greedy(benchmark::State& state) { plan_blocks(state, {}); }
void exact(benchmark::State& state) { plan_blocks(state, {.is_exact = true}); }
void suffix(benchmark::State& state) { plan_blocks(state, {.is_suffix = true}); }
BENCHMARK(greedy)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"blocks", "stages", "different"})
    ->Args({50, 8, 1})
    ->Args({200, 16, 0})
    ->Args({200, 16, 1})
    ->Args({1000, 32, 1})
    ->Args({1000, 64, 1});
BENCHMARK(exact)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"blocks", "stages", "different"})
    ->Args({50, 8, 1})
    ->Args({200, 16, 0})
    ->Args({200, 16, 1});
BENCHMARK(suffix)->Unit(benchmark::kMillisecond)->ArgNames({"blocks", "stages", "different"})->Args({200, 16, 1});

/// Layers of uneven cost on devices that each have a host.
void whole_planner(benchmark::State& state) {
  const Blocks all = blocks(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)), false);
  LayerGraph graph;
  graph.name = "bench";
  graph.device_kind = "A";
  for (std::size_t i = 0; i < all.units.size(); ++i) {
    Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.forward = all.units[i].forward;
    layer.backward = all.units[i].backward;
    layer.parameters = all.parameters[i];
    layer.output = layer.checkpoint = all.units[i].checkpoint;
    layer.stash = all.units[i].stash;
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), Bytes(8'000'000)});
  }
  PlatformSpec spec;
  spec.name = "flat";
  spec.device_kinds.push_back({"A", all.capacity, 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < all.stages; ++i) {
    form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
    form.devices[DeviceId(i)].host =
        HostSpec{Bytes(std::int64_t{1} << 40), LinkSpec{BytesPerSecond(12e9), Seconds(0)}, 1};
  }
  form.default_link = LinkSpec{BytesPerSecond(12e9), Seconds(0)};
  spec.form = form;
  const Platform platform = build_platform(spec);
  const PlannerInfo& planner = find_planner("vpipe");
  const PlanRequest request{graph, platform, {planner.default_schedule, {}}, 64, {}, parse_options(planner, {})};
  for (auto _ : state) benchmark::DoNotOptimize(planner.plan(request));
}
BENCHMARK(whole_planner)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"layers", "devices"})
    ->Args({50, 8})
    ->Args({200, 16});

}  // namespace

BENCHMARK_MAIN();
