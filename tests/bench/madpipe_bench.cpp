#include "planners/madpipe/allocation_search.hpp"
#include "planners/madpipe/pattern_search.hpp"
#include "planners/madpipe/special_plan.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/bench/usage.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Phase 1 of MadPipe with its whole search, on the grid of 101 x 11 x 51 points, from the layer graph in memory on; and
// phase 2 for given stages.
namespace {

using namespace stagecraft;

/// 100 layers of uneven cost; tensors shrink and weights grow along the chain, as in networks for images.
LayerGraph long_chain() {
  std::mt19937_64 random(1);
  LayerGraph graph;
  graph.name = "long";
  graph.device_kind = "V100-SXM2-16GB";
  constexpr std::size_t kLayers = 100;
  for (std::size_t i = 0; i < kLayers; ++i) {
    const auto left = static_cast<std::int64_t>(kLayers - i);
    Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.forward = Seconds(1e-3 + 1e-5 * static_cast<double>(random() % 1000));
    layer.backward = layer.forward * 2.0;
    layer.backward_weight = layer.forward;
    layer.parameters = Bytes((200 - left) * (10'000 + static_cast<std::int64_t>(random() % 200'000)));
    layer.output = Bytes(left * (50'000 + static_cast<std::int64_t>(random() % 500'000)));
    layer.stash = layer.checkpoint = layer.output * 3;
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), graph.layers[LayerId(i - 1)].output});
  }
  return graph;
}

LayerGraph resnet101(Granularity granularity) {
  return build_model(find_architecture("resnet101", 1000).value(), find_device("V100-SXM2-16GB").value(), 8,
                     granularity)
      .profiles[0];
}

Platform eight_devices(std::int64_t memory) {
  PlatformSpec spec;
  spec.name = "eight";
  spec.device_kinds.push_back({"V100-SXM2-16GB", Bytes(memory), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (int i = 0; i < 8; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  form.default_link = LinkSpec{BytesPerSecond(12e9), Seconds(0)};
  spec.form = form;
  return build_platform(std::move(spec));
}

void search(benchmark::State& state, const LayerGraph& graph) {
  const Platform platform = eight_devices(state.range(0) << 20U);
  const Chain chain({graph, platform, {}, 1, {}, Options({})}, kPeriodicWeightVersions);
  double period = 0.0;
  double states = 0.0;
  for (auto _ : state) {
    const madpipe::AllocationSearch found = madpipe::trace_search(chain, {});
    if (!found.found.empty()) period = to_seconds(found.found.back().period()).value();
    states = static_cast<double>(found.most_states);
  }
  state.counters["layers"] = static_cast<double>(chain.size());
  state.counters["period_s"] = period;
  state.counters["states"] = states;
  state.counters["MiB"] = bench::largest_mebibytes();
}

void resnet101_blocks(benchmark::State& state) { search(state, resnet101(Granularity::Block)); }
void resnet101_layers(benchmark::State& state) { search(state, resnet101(Granularity::Layer)); }
void hundred_layers(benchmark::State& state) { search(state, long_chain()); }

/// Phase 2 for a device that comes back between all others: `visits` stages of its own.
void pattern(benchmark::State& state) {
  const auto visits = static_cast<std::size_t>(state.range(0));
  const LayerGraph graph = long_chain();
  const Platform platform = eight_devices(std::int64_t{16} << 30U);
  const Chain chain({graph, platform, {}, 1, {}, Options({})}, kPeriodicWeightVersions);
  std::vector<ChainStage> stages;
  for (std::size_t s = 0; s < 2 * visits - 1; ++s) {
    const std::size_t begin = stages.empty() ? 0 : stages.back().end;
    const std::size_t end = s + 2 == 2 * visits ? chain.size() : begin + chain.size() / (2 * visits - 1);
    stages.push_back({begin, end, static_cast<std::uint32_t>(s % 2 == 0 ? 0 : 1 + s / 2)});
  }
  constexpr std::int64_t kNodes = 1000;
  madpipe::PatternAnswer answer;
  for (auto _ : state) answer = madpipe::least_pattern(chain, stages, {madpipe::longest_period(chain), kNodes});
  state.counters["nodes"] = static_cast<double>(answer.nodes);
  state.counters["period_s"] = answer.pattern ? to_seconds(answer.pattern->period).value() : 0.0;
}
BENCHMARK(pattern)->UseRealTime()->Unit(benchmark::kMillisecond)->ArgName("visits")->Arg(2)->Arg(3)->Arg(4);

// Memory of a device in MiB.
BENCHMARK(resnet101_blocks)->Unit(benchmark::kMillisecond)->Arg(4096)->Arg(6144)->Arg(8192)->Arg(12288)->Arg(16384);
BENCHMARK(hundred_layers)->Unit(benchmark::kMillisecond)->Arg(1024)->Arg(2048)->Arg(3072)->Arg(4096)->Arg(8192);
BENCHMARK(resnet101_layers)->Unit(benchmark::kMillisecond)->Arg(8192)->Arg(12288)->Arg(16384);

}  // namespace

BENCHMARK_MAIN();
