#include "planners/exhaustive/search.hpp"
#include "planners/planner.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

// The search over all plans of random chains on equal devices, with and without skipping those that cannot matter.
namespace {

using namespace stagecraft;

LayerGraph random_chain(std::size_t layers) {
  std::mt19937 random(1);
  const auto up_to = [&](std::uint32_t most) { return Bytes(static_cast<std::int64_t>(1 + random() % most)); };
  LayerGraph graph;
  graph.name = "random";
  graph.device_kind = "A";
  for (std::size_t i = 0; i < layers; ++i) {
    Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.forward = Seconds(1e-3 * static_cast<double>(1 + random() % 10));
    layer.backward = layer.forward * 2.0;
    layer.parameters = up_to(10'000'000);
    layer.output = layer.stash = up_to(1'000'000);
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), graph.layers[LayerId(i - 1)].output});
  }
  return graph;
}

Platform equal_devices(std::size_t devices) {
  PlatformSpec spec;
  spec.name = "equal";
  spec.device_kinds.push_back({"A", Bytes(std::int64_t{1} << 34), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < devices; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  form.default_link = LinkSpec{BytesPerSecond(12e9), Seconds(0)};
  spec.form = form;
  return build_platform(std::move(spec));
}

void search(benchmark::State& state) {
  const LayerGraph graph = random_chain(static_cast<std::size_t>(state.range(0)));
  const Platform platform = equal_devices(static_cast<std::size_t>(state.range(1)));
  const PlanRequest request{graph, platform, {"1f1b", {}}, 32, {}, Options({})};
  exhaustive::SearchSettings settings;
  settings.prune = state.range(2) == 1;
  exhaustive::Found found;
  for (auto _ : state) found = exhaustive::search(request, settings);
  state.counters["candidates"] = found.candidates;
  state.counters["judged"] = found.judged;
}
BENCHMARK(search)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"layers", "devices", "prune"})
    ->Args({8, 4, 0})
    ->Args({8, 4, 1})
    ->Args({16, 4, 1})
    ->Args({12, 6, 1});

}  // namespace

BENCHMARK_MAIN();
