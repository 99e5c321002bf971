#include "planners/registry.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <variant>

// From a request to the plan, on random chains of operators. The memory of a device is told in percent of what the
// largest stage of the plan for ample memory needs, so that 100 asks for no savings.
namespace {

using namespace stagecraft;

LayerGraph random_operators(std::size_t count) {
  std::mt19937 random(1);
  const auto between = [&](double least, double most) {
    return least + (most - least) * static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
  };
  LayerGraph graph;
  graph.device_kind = "A";
  for (std::size_t i = 0; i < count; ++i) {
    Layer layer;
    layer.forward = Seconds(between(1e-4, 1e-3));
    layer.backward = layer.forward * between(1.5, 2.5);
    layer.parameters = Bytes(static_cast<std::int64_t>(between(0, 1e6)));
    layer.output = Bytes(static_cast<std::int64_t>(between(1e5, 1e6)));
    layer.stash = Bytes(static_cast<std::int64_t>(between(1e6, 1e7)));
    layer.checkpoint = Bytes(static_cast<std::int64_t>(between(0.0, 0.8) * static_cast<double>(layer.stash.value())));
    layer.workspace = Bytes(static_cast<std::int64_t>(between(0, 1e6)));
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), graph.layers[LayerId(i - 1)].output});
  }
  return graph;
}

/// Devices with hosts of their own; a bandwidth of 0: without hosts.
Platform platform_of(std::size_t devices, Bytes memory, double host_bandwidth) {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", memory, 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < devices; ++i) {
    ExplicitDevice device{"gpu" + std::to_string(i), DeviceKindId(0), {}};
    if (host_bandwidth > 0.0) {
      device.host = HostSpec{Bytes(std::int64_t{1} << 42), LinkSpec{BytesPerSecond(host_bandwidth), Seconds(0)}, 1};
    }
    form.devices.push_back(device);
  }
  form.default_link = LinkSpec{BytesPerSecond(12e9), Seconds(0)};
  spec.form = form;
  return build_platform(spec);
}

void plan(benchmark::State& state, double host_bandwidth) {
  const PlannerInfo& planner = find_planner("dawnpiper");
  const LayerGraph graph = random_operators(static_cast<std::size_t>(state.range(0)));
  const auto devices = static_cast<std::size_t>(state.range(1));
  const auto result_with = [&](Bytes memory) {
    const Platform platform = platform_of(devices, memory, host_bandwidth);
    return planner.plan({graph, platform, {"1f1b", {}}, 64, {}, parse_options(planner, {})});
  };
  Bytes need;
  const PlanResult ample = result_with(Bytes(std::int64_t{1} << 50));
  for (const auto& [device, peak] : std::get<Planned>(ample).plan.predicted.peak_memory) {
    need = std::max(need, peak);
  }
  bool is_planned = false;
  for (auto _ : state) {
    is_planned = std::holds_alternative<Planned>(result_with(Bytes(need.value() * state.range(2) / 100)));
  }
  state.counters["planned"] = is_planned ? 1 : 0;
}

void recompute_only(benchmark::State& state) { plan(state, 0.0); }
void swap_and_recompute(benchmark::State& state) { plan(state, 12e9); }

BENCHMARK(recompute_only)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"operators", "devices", "percent"})
    ->ArgsProduct({{200, 2000}, {4, 16}, {100, 70, 50, 35}});
BENCHMARK(swap_and_recompute)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"operators", "devices", "percent"})
    ->ArgsProduct({{200, 2000}, {16}, {70, 50, 35}});

}  // namespace

BENCHMARK_MAIN();
