#include "sim/schedule/gradient_buckets.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/tied_stages.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>

namespace stagecraft::gradient_buckets_test {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

/// A chain whose layers have these parameters.
LayerGraph with_parameters(const std::vector<std::int64_t>& parameters) {
  LayerGraph graph = chain(parameters.size(), 1, 2);
  for (LayerId id : indices(graph.layers)) graph.layers[id].parameters = Bytes(parameters[id.value()]);
  return graph;
}

std::vector<LayerId> all_layers(const LayerGraph& graph) {
  std::vector<LayerId> layers;
  for (LayerId id : indices(graph.layers)) layers.push_back(id);
  return layers;
}

/// All layers as one stage on the first devices.
Plan replicated(const LayerGraph& graph, std::size_t replicas, std::int64_t microbatches, const char* schedule) {
  Plan plan = straight(1, microbatches, schedule);
  plan.stages[0].layers = all_layers(graph);
  plan.stages[0].replicas.clear();
  for (std::size_t i = 0; i < replicas; ++i) plan.stages[0].replicas.emplace_back(DeviceId(i));
  return plan;
}

TEST_CASE("gradient buckets: are filled from the last layer, and a larger layer is one of its own") {
  const LayerGraph graph = with_parameters({0, 30, 0, 100, 40, 0, 60});
  const std::vector<LayerId> layers = all_layers(graph);
  using Buckets = std::vector<GradientBucket>;
  // From the end: 60 + 40 = 100 fit, the layer of 100 is as large as a bucket, then 30.
  CHECK(gradient_buckets(exchanged_parameters(graph, layers), layers, Bytes(100)) ==
        Buckets{{Bytes(100), LayerId(4)}, {Bytes(100), LayerId(3)}, {Bytes(30), LayerId(1)}});
  CHECK(gradient_buckets(exchanged_parameters(graph, layers), layers, Bytes(50)) ==
        Buckets{{Bytes(60), LayerId(6)}, {Bytes(40), LayerId(4)}, {Bytes(100), LayerId(3)}, {Bytes(30), LayerId(1)}});
  CHECK(gradient_buckets(exchanged_parameters(graph, layers), layers, Bytes(1000)) ==
        Buckets{{Bytes(230), LayerId(1)}});
  CHECK(gradient_buckets(exchanged_parameters(graph, layers), layers, Bytes(0)) == Buckets{{Bytes(230), LayerId(0)}});
  CHECK(gradient_buckets({Bytes(0), Bytes(0)}, {LayerId(0), LayerId(1)}, Bytes(10)).empty());
}

TEST_CASE("gradient buckets: their rings run one after the other under the backward, by the closed form") {
  // Layers of b = 2 s each; the exchange of p bytes among n replicas takes 2 (n - 1) (latency + p / n / bandwidth).
  const std::vector<std::int64_t> parameters = {300'000'000, 60'000'000, 0, 1'200'000'000, 600'000'000};
  const LayerGraph graph = with_parameters(parameters);
  const double bandwidth = 1e9;
  const double latency = 0.01;
  for (const std::int64_t n : {2, 3, 4}) {
    CAPTURE(n);
    Plan plan = replicated(graph, static_cast<std::size_t>(n), n, "gpipe");
    plan.training.gradient_bucket = Bytes(1);  // each layer for itself
    double layer_end = 5.0;                    // of the forward
    double exchanged = 0.0;
    for (std::size_t i = parameters.size(); i-- > 0;) {
      layer_end += 2.0;
      if (parameters[i] == 0) continue;
      const double bytes = static_cast<double>(parameters[i]) / static_cast<double>(n);
      exchanged = std::max(exchanged, layer_end) + 2.0 * static_cast<double>(n - 1) * (latency + bytes / bandwidth);
    }
    const Platform platform = pairwise(static_cast<std::size_t>(n), bandwidth, latency);
    const Report report = evaluate_plan(graph, platform, plan);
    CHECK(report.iterations.back().value() == doctest::Approx(std::max(exchanged, 15.0)).epsilon(1e-9));
    for (const DeviceReport& device : report.devices) {
      CHECK(device.time.compute.value() == doctest::Approx(15.0).epsilon(1e-12));
      CHECK(device.time.all_reduce.value() == doctest::Approx(exchanged - 15.0).epsilon(1e-9));
      CHECK(device.time.idle.value() == doctest::Approx(0.0));
    }
  }
}

TEST_CASE("gradient buckets: the weight halves of a split backward release them") {
  // f = 1, b = 2, weight half 1 for each of two layers of 1 GB, exchanged in 1 s each by two replicas. F 0-2, input
  // halves 2-4, weight half of the second layer 4-5 and of the first 5-6; all-reduces 5-6 and 6-7.
  const LayerGraph graph = with_parameters({1'000'000'000, 1'000'000'000});
  Plan plan = replicated(graph, 2, 2, "literal");
  plan.training.gradient_bucket = Bytes(1);
  LowerOptions options;
  options.literal = Schedule{};
  for (std::uint32_t k = 0; k < 2; ++k) {
    DeviceOrder order{DeviceId(k), Discipline::Strict, {}};
    for (const ActionKind kind : {ActionKind::Forward, ActionKind::BackwardInput, ActionKind::BackwardWeight}) {
      Action action;
      action.kind = kind;
      action.stage = StageId(0);
      action.microbatch = k;
      order.actions.push_back(action);
    }
    options.literal->devices.push_back(order);
  }
  CHECK(evaluate_plan(graph, pairwise(2), plan, options).end.value() == doctest::Approx(7.0).epsilon(1e-12));
  plan.training.gradient_bucket = Bytes(0);
  CHECK(evaluate_plan(graph, pairwise(2), plan, options).end.value() == doctest::Approx(8.0).epsilon(1e-12));
}

TEST_CASE("gradient buckets: a recomputed segment is divided, and its memory stays") {
  // One segment of both layers: forward 2, recompute 2, backwards 2 each; the stash of 100 B of the second layer comes
  // back, and the first keeps a checkpoint of 10 B. All-reduces of 1 s: 6-7 and 8-9.
  LayerGraph graph = with_parameters({1'000'000'000, 1'000'000'000});
  for (Layer& layer : graph.layers) layer.stash = Bytes(100);
  graph.layers[LayerId(0)].checkpoint = Bytes(10);
  Plan plan = replicated(graph, 2, 2, "1f1b");
  plan.stages[0].memory = {Recompute{{LayerId(0), LayerId(1)}}};
  Report reports[2];
  for (const std::int64_t bucket : {0, 1}) {
    plan.training.gradient_bucket = Bytes(bucket);
    reports[bucket] = evaluate_plan(graph, pairwise(2), plan);
  }
  CHECK(reports[0].end.value() == doctest::Approx(10.0).epsilon(1e-12));
  CHECK(reports[1].end.value() == doctest::Approx(9.0).epsilon(1e-12));
  CHECK(reports[0].devices[0].memory.peak == reports[1].devices[0].memory.peak);
}

TEST_CASE("gradient buckets: asynchronous replicas exchange them round by round") {
  // f = 2, b = 4 in two layers of 1 GB, exchanged in 2 s each. Backward 0-4, all-reduces 2-4 and 4-6, next forward 4-6:
  // a round of two microbatches takes 6 s. At once, the all-reduce lasts from 4 to 8.
  const LayerGraph graph = with_parameters({1'000'000'000, 1'000'000'000});
  Plan plan = replicated(graph, 2, 80, "pipedream");
  const auto period = [&](std::int64_t bucket) {
    plan.training.gradient_bucket = Bytes(bucket);
    return evaluate_plan(graph, pairwise(2, 0.5e9), plan).period->value();
  };
  CHECK(period(0) == doctest::Approx(8.0 / 2).epsilon(1e-12));
  CHECK(period(1) == doctest::Approx(6.0 / 2).epsilon(1e-12));
}

/// What a run sends in all-reduces from each place.
std::map<PlaceId, Bytes> exchanged_bytes(const Timeline& timeline) {
  std::map<PlaceId, Bytes> bytes;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind == OpKind::AllReduce) bytes[entry.from] += entry.bytes;
  }
  return bytes;
}

TEST_CASE("gradient buckets: are never later than one all-reduce by more than their latencies, with as many bytes") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(200); ++seed) {
    CAPTURE(seed);
    const bool swaps = seed % 2 == 0;
    testing::RandomCase random = testing::random_case(seed, {Sharing::Fair, true, swaps});
    for (Layer& layer : random.graph.layers) layer.parameters = layer.parameters * 1'000'000;
    std::array<Report, 2> reports;
    std::array<std::map<PlaceId, Bytes>, 2> bytes;
    for (const std::int64_t in_buckets : {0, 1}) {
      random.plan.training.gradient_bucket = Bytes(in_buckets * 600'000'000);
      Timeline timeline;
      reports[in_buckets] = evaluate_plan(random.graph, random.platform, random.plan, {}, {}, collect_into(timeline));
      bytes[in_buckets] = exchanged_bytes(timeline);
    }
    const auto devices = static_cast<double>(random.platform.devices.size());
    const auto layers = static_cast<double>(random.graph.layers.size());
    // A layer adds at most one all-reduce of at most 2 (devices - 1) latencies to a flush or a round.
    const double rounds = reports[0].period ? static_cast<double>(random.plan.microbatches) : 1.0;
    const double added = rounds * layers * 2 * (devices - 1) * 0.01;
    CHECK(reports[1].end.value() <= reports[0].end.value() * (1 + 1e-12) + added);
    CHECK(bytes[0] == bytes[1]);
    if (swaps) continue;  // then times decide what is held at once
    for (std::size_t i = 0; i < reports[0].devices.size(); ++i) {
      CHECK(reports[1].devices[i].memory.peak == reports[0].devices[i].memory.peak);
    }
  }
}

}  // namespace
}  // namespace stagecraft::gradient_buckets_test
