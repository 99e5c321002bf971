#include "planners/shared/cuts/best_contiguous.hpp"
#include "planners/shared/cuts/pipedream_cut.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>

// From a request to the exact contiguous cut, and to PipeDream's, on random chains. The memory is told in percent of an
// even share of what the whole model holds with one microbatch in flight everywhere, so that below 100 nothing fits.
namespace {

using namespace stagecraft;

LayerGraph random_chain(std::size_t layers, double largest_tensor) {
  std::mt19937 random(1);
  const auto between = [&](double least, double most) {
    return least + (most - least) * static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
  };
  LayerGraph graph;
  graph.device_kind = "A";
  for (std::size_t i = 0; i < layers; ++i) {
    Layer layer;
    layer.forward = Seconds(between(1e-4, 1e-2));
    layer.backward = layer.forward * between(1.5, 2.5);
    layer.parameters = Bytes(static_cast<std::int64_t>(between(1e5, 1e7)));
    layer.output = Bytes(static_cast<std::int64_t>(between(0.01, 1) * largest_tensor));
    layer.stash = Bytes(static_cast<std::int64_t>(between(1e6, 1e7)));
    layer.workspace = Bytes(static_cast<std::int64_t>(between(0, 1e7)));
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), graph.layers[LayerId(i - 1)].output});
  }
  return graph;
}

Platform platform_of(std::size_t devices, Bytes memory) {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", memory, 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < devices; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  form.default_link = LinkSpec{BytesPerSecond(12e9), Seconds(0)};
  spec.form = form;
  return build_platform(spec);
}

Chain chain_of(const LayerGraph& graph, std::size_t devices, std::int64_t memory_percent) {
  Bytes whole;
  for (const Layer& layer : graph.layers) whole += layer.parameters * 5 + layer.stash;
  const auto share = static_cast<double>(whole.value() * memory_percent) / (100.0 * static_cast<double>(devices));
  const Platform platform = platform_of(devices, Bytes(static_cast<std::int64_t>(share)));
  return {{.graph = graph,
           .platform = platform,
           .schedule = {"1f1b-star", {}},
           .microbatches = 1,
           .training = {},
           .options = Options({})},
          kPeriodicWeightVersions};
}

/// Arguments: layers, devices, memory in percent, largest tensor in kB.
void contiguous(benchmark::State& state) {
  const LayerGraph graph =
      random_chain(static_cast<std::size_t>(state.range(0)), 1e3 * static_cast<double>(state.range(3)));
  const Chain chain = chain_of(graph, static_cast<std::size_t>(state.range(1)), state.range(2));
  std::optional<ContiguousAnswer> answer;
  for (auto _ : state) benchmark::DoNotOptimize(answer = best_contiguous(chain));
  state.counters["period_ms"] = answer ? static_cast<double>(answer->period) / 1e6 : 0.0;
  state.counters["stages"] = answer ? static_cast<double>(answer->stages.size()) : 0.0;
}
BENCHMARK(contiguous)
    ->ArgNames({"layers", "devices", "memory", "tensor"})
    ->ArgsProduct({{1000}, {64}, {90, 110, 400, 1000, 100000}, {10, 1000000}})
    ->Args({100, 8, 200, 10000})
    ->Unit(benchmark::kMillisecond);

void pipedream(benchmark::State& state) {
  const LayerGraph graph = random_chain(static_cast<std::size_t>(state.range(0)), 1e7);
  const Chain chain = chain_of(graph, static_cast<std::size_t>(state.range(1)), state.range(2));
  std::optional<PipedreamCut> cut;
  for (auto _ : state) benchmark::DoNotOptimize(cut = pipedream_cut(chain));
  state.counters["claimed_ms"] = cut ? static_cast<double>(cut->claimed) / 1e6 : 0.0;
  state.counters["achieved_ms"] = cut ? static_cast<double>(cut->achieved) / 1e6 : 0.0;
}
BENCHMARK(pipedream)
    ->ArgNames({"layers", "devices", "memory"})
    ->ArgsProduct({{1000}, {64}, {200, 1000, 100000}})
    ->Args({100, 8, 400})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
