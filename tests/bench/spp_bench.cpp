#include "planners/spp/device_order.hpp"
#include "planners/spp/partition.hpp"
#include "tests/bench/usage.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

// SPP's order of devices, and its partition for all counts of stages in one call.
namespace {

using namespace stagecraft;
using namespace stagecraft::spp;

/// Nodes of equal devices whose numbers are shuffled: 300 GB/s inside, 12.5 GB/s between.
PairBandwidths cluster(std::size_t devices, std::size_t per_node, double inside = 300e9) {
  std::mt19937_64 random(1);
  std::vector<std::size_t> node(devices);
  for (std::size_t i = 0; i < devices; ++i) node[i] = i / per_node;
  std::ranges::shuffle(node, random);
  PairBandwidths pairs(devices, BytesPerSecond(12.5e9));
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (node[a] == node[b]) pairs.set(DeviceId(a), DeviceId(b), BytesPerSecond(inside));
    }
  }
  return pairs;
}

/// Every pair its own bandwidth, so that no bound on cuts ends a search early.
PairBandwidths scattered(std::size_t devices) {
  std::mt19937_64 random(1);
  PairBandwidths pairs(devices);
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      pairs.set(DeviceId(a), DeviceId(b), BytesPerSecond(static_cast<double>(1'000'000 + random() % 100'000'000)));
    }
  }
  return pairs;
}

void measure_order(benchmark::State& state, const PairBandwidths& pairs) {
  for (auto _ : state) benchmark::DoNotOptimize(device_order(pairs));
  state.counters["MiB"] = bench::largest_mebibytes();
}

void order_in_nodes(benchmark::State& state) {
  measure_order(state, cluster(static_cast<std::size_t>(state.range(0)), 8));
}
/// Links between nodes so thin that whole nodes are cut off, one after the other.
void order_far_nodes(benchmark::State& state) {
  measure_order(state, cluster(static_cast<std::size_t>(state.range(0)), 8, 900e12));
}
void order_equal(benchmark::State& state) {
  measure_order(state, PairBandwidths(static_cast<std::size_t>(state.range(0))));
}
void order_scattered(benchmark::State& state) {
  measure_order(state, scattered(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(order_in_nodes)->Unit(benchmark::kMillisecond)->Arg(16)->Arg(128)->Arg(1024);
BENCHMARK(order_far_nodes)->Unit(benchmark::kMillisecond)->Arg(128)->Arg(1024);
BENCHMARK(order_equal)->Unit(benchmark::kMillisecond)->Arg(1024);
BENCHMARK(order_scattered)->Unit(benchmark::kMillisecond)->Arg(16)->Arg(128)->Arg(512);

/// Layers of uneven cost on nodes of eight devices; tensors shrink and weights grow along the chain. The last layer
/// takes as long as `heavy` others: where it alone is the load, any other stages tie.
PartitionProblem problem(std::size_t layers, std::size_t devices, std::int64_t heavy) {
  std::mt19937_64 random(1);
  const auto between = [&](std::uint64_t least, std::uint64_t most) {
    return static_cast<std::int64_t>(least + random() % (most - least + 1));
  };
  PartitionProblem problem{.compute = {Seconds(0)},
                           .parameters = {},
                           .forward = {},
                           .backward = {},
                           .divided = {},
                           .bucket = Bytes(0),
                           .exchange = {},
                           .crossing = {Bytes(0)},
                           .bandwidths = {cluster(devices, 8), cluster(devices, 8)},
                           .all_reduces = {},
                           .factors = std::vector<double>(devices, 1.0),
                           .update_bandwidth = std::vector<BytesPerSecond>(devices, BytesPerSecond(900e9)),
                           .update_copies = 4,
                           .microbatches = 4 * static_cast<std::int64_t>(devices)};
  std::vector<Bytes> parameters(1);
  for (std::size_t l = 1; l <= layers; ++l) {
    problem.compute.push_back(problem.compute.back() +
                              Seconds(1e-5 * static_cast<double>(between(100, 1000) * (l == layers ? heavy : 1))));
    parameters.push_back(parameters.back() + Bytes(static_cast<std::int64_t>(l) * between(10'000, 1'000'000)));
    problem.crossing.push_back(Bytes(static_cast<std::int64_t>(layers - l) * between(50'000, 500'000)));
  }
  problem.parameters = parameters;
  return problem;
}

void partition(benchmark::State& state) {
  const PartitionProblem given =
      problem(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)), state.range(2));
  std::vector<Partition> best;
  for (auto _ : state) benchmark::DoNotOptimize(best = best_partitions(given));
  state.counters["least_load_s"] = std::ranges::min(best, {}, &Partition::load).load.value();
  state.counters["MiB"] = bench::largest_mebibytes();
}
BENCHMARK(partition)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"layers", "devices", "heavy"})
    ->Args({20, 4, 1})
    ->Args({50, 8, 1})
    ->Args({100, 16, 1})
    ->Args({32, 32, 1})
    ->Args({200, 16, 1})
    ->Args({64, 64, 1})
    ->Args({100, 16, 50})
    ->Args({200, 16, 100})
    ->Args({64, 64, 32})
    ->Args({1000, 16, 1})
    ->Args({1000, 64, 1});

}  // namespace

BENCHMARK_MAIN();
