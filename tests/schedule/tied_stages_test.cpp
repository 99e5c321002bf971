// Parameters that layers have in common: where they are held, who exchanges their gradients, and for how long.

#include "sim/schedule/tied_stages.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/layer_moves.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "sim/schedule/ring_buckets.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

constexpr double kTiedBandwidth = 10;  // bytes per second

/// Three layers of 3 s and 100 bytes of parameters; the first and the last have 60 of them in common.
LayerGraph first_and_last() {
  LayerGraph graph = chain(3, 1, 2, 0, 0, 100);
  graph.tied = {{{LayerId(0), LayerId(2)}, Bytes(60)}};
  return graph;
}

Plan staged(const std::vector<std::vector<std::size_t>>& layers, const std::vector<std::vector<std::size_t>>& devices,
            std::int64_t microbatches, const std::string& schedule = "1f1b") {
  Plan plan = straight(0, microbatches, schedule);
  for (std::size_t s = 0; s < layers.size(); ++s) {
    Stage& stage = plan.stages.emplace_back();
    for (const std::size_t layer : layers[s]) stage.layers.emplace_back(layer);
    for (const std::size_t device : devices[s]) stage.replicas.emplace_back(DeviceId(device));
  }
  return plan;
}

double iteration(const LayerGraph& graph, const Plan& plan, std::size_t devices) {
  return evaluate_plan(graph, pairwise(devices, kTiedBandwidth), plan).iterations.back().value();
}

Bytes weights_on(const Report& report, std::size_t device) {
  return report.devices[device].memory.breakdown[static_cast<std::size_t>(MemoryCategory::Weights)];
}

}  // namespace

TEST_CASE("tied: an exchange has common parameters once, at the first of its layers") {
  LayerGraph graph = first_and_last();
  const std::vector<LayerId> all{LayerId(0), LayerId(1), LayerId(2)};
  CHECK(exchanged_parameters(graph, all) == std::vector{Bytes(100), Bytes(100), Bytes(40)});
  CHECK(exchanged_parameters(graph, {LayerId(2)}) == std::vector{Bytes(100)});
  CHECK(exchanged_parameters(graph, all, {0}) == std::vector{Bytes(40), Bytes(100), Bytes(40)});
  CHECK(parameters_of(graph, all) == Bytes(240));
  CHECK(totals(graph).parameters == Bytes(240));
  graph.tied.push_back({{LayerId(1), LayerId(2)}, Bytes(10)});
  CHECK(exchanged_parameters(graph, all) == std::vector{Bytes(100), Bytes(100), Bytes(30)});
}

TEST_CASE("tied: groups of the same stages have one ring, which has each device once") {
  LayerGraph graph = first_and_last();
  graph.tied.push_back({{LayerId(1), LayerId(2)}, Bytes(5)});
  graph.tied.push_back({{LayerId(0), LayerId(1)}, Bytes(7)});
  const Plan plan = staged({{0}, {1, 2}}, {{0, 1}, {2, 3}}, 4);
  const std::vector<TiedRing> rings = tied_rings(graph, plan, Replicas(plan));
  REQUIRE(rings.size() == 1);  // the second group is stage 1's alone
  CHECK(rings[0].stages == std::vector{StageId(0), StageId(1)});
  CHECK(rings[0].members == std::vector{ReplicaId(0), ReplicaId(1), ReplicaId(2), ReplicaId(3)});
  CHECK(rings[0].groups == std::vector<std::size_t>{0, 2});
  CHECK(rings[0].bytes == Bytes(67));

  const Plan shared = staged({{0}, {1}, {2}}, {{0, 1}, {2}, {1, 3}}, 4);
  const std::vector<TiedRing> on_shared = tied_rings(first_and_last(), shared, Replicas(shared));
  REQUIRE(on_shared.size() == 1);
  CHECK(on_shared[0].members == std::vector{ReplicaId(0), ReplicaId(1), ReplicaId(4)});  // gpu0, gpu1, gpu3
}

// 2 microbatches: each replica runs one, 9 s; then 2 (1/2) 240 bytes at 10 bytes per second.
TEST_CASE("tied: data parallelism exchanges and holds common parameters once") {
  const Plan plan = staged({{0, 1, 2}}, {{0, 1}}, 2);
  CHECK(iteration(first_and_last(), plan, 2) == doctest::Approx(9 + 24));
  const Report report = evaluate_plan(first_and_last(), pairwise(2, kTiedBandwidth), plan);
  CHECK(weights_on(report, 0) == Bytes(240));
}

// 4 microbatches through 3 stages take (4 + 2) 3 s; then gpu0 and gpu2 exchange 2 (1/2) 60 bytes.
TEST_CASE("tied: stages that each have a copy exchange its gradients at the flush") {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    CAPTURE(schedule);
    const Plan plan = straight(3, 4, schedule);
    CHECK(iteration(first_and_last(), plan, 3) == doctest::Approx(18 + 6));
    CHECK(iteration(chain(3, 1, 2, 0, 0, 100), plan, 3) == doctest::Approx(18));
  }
}

// Microbatch 0: forwards to 3 s, backwards of the last stage to 7 s and of the first to 9 s. The last stage reduces
// 110 bytes of its own until 18 s; the four replicas reduce the common 90 in 2 (3/4) 90 / 10 = 13.5 s from 9 s on.
TEST_CASE("tied: the replicas of all stages with a copy reduce it in one ring") {
  LayerGraph graph = first_and_last();
  graph.tied[0].bytes = Bytes(90);
  CHECK(iteration(graph, staged({{0}, {1, 2}}, {{0, 1}, {2, 3}}, 2), 4) == doctest::Approx(9 + 13.5));
}

// Of stage 0 the backward of layer 1, which has the copy, ends at 7 s and that of layer 0 at 9 s.
TEST_CASE("tied: with buckets the exchange begins when the layers with the copies have ended") {
  LayerGraph graph = chain(3, 1, 2, 0, 0, 100);
  graph.tied = {{{LayerId(1), LayerId(2)}, Bytes(60)}};
  Plan plan = staged({{0, 1}, {2}}, {{0}, {1}}, 1);
  CHECK(iteration(graph, plan, 2) == doctest::Approx(9 + 6));
  plan.training.gradient_bucket = Bytes(1);
  CHECK(iteration(graph, plan, 2) == doctest::Approx(7 + 6));
}

TEST_CASE("tied: a device with both stages holds the parameters once and exchanges nothing") {
  const Plan plan = staged({{0}, {1}, {2}}, {{0}, {1}, {0}}, 4);
  const Platform platform = pairwise(2, kTiedBandwidth);
  const Report tied = evaluate_plan(first_and_last(), platform, plan);
  const Report apart = evaluate_plan(chain(3, 1, 2, 0, 0, 100), platform, plan);
  CHECK(tied.iterations.back() == apart.iterations.back());
  CHECK(weights_on(tied, 0) == Bytes(140));
  CHECK(weights_on(apart, 0) == Bytes(200));
}

// Both pipelines have layer 0 on gpu0, which holds its 100 bytes once and exchanges them with gpu1 alone.
TEST_CASE("tied: a device with a layer of two pipelines holds it once, and is in its ring once") {
  Plan plan = staged({{0}, {1}, {0}, {1}}, {{0, 1}, {2}, {0}, {2}}, 4);
  plan.stages[2].pipeline = plan.stages[3].pipeline = 1;
  const LayerGraph graph = chain(2, 1, 2, 0, 0, 100);
  const Report report = evaluate_plan(graph, pairwise(3, kTiedBandwidth), plan);
  CHECK(weights_on(report, 0) == Bytes(100));
  CHECK(weights_on(report, 2) == Bytes(100));
  const RingBuckets rings = ring_buckets(graph, plan, Replicas(plan), tied_rings(graph, plan, Replicas(plan)));
  CHECK(rings.rings[0].members == std::vector{ReplicaId(0), ReplicaId(1)});
}

// Stage 1 keeps 2 versions of its 100 bytes, stage 0 one of the 40 that are not stage 1's too.
TEST_CASE("tied: the stage with the most weight versions holds common parameters") {
  Plan plan = staged({{0}, {1}, {2}}, {{0}, {1}, {0}}, 60, "pipedream");
  plan.stages[0].weight_versions = 1;
  plan.stages[2].weight_versions = 2;
  const Report report = evaluate_plan(first_and_last(), pairwise(2, kTiedBandwidth), plan);
  CHECK(weights_on(report, 0) == Bytes(40 + 2 * 100));
}

// Each stage takes 3 s for a microbatch. The first one waits for its exchange, of 6 s, before its next backward, and
// runs a forward meanwhile: 2 + 6 s. With an exchange of 1 s nothing waits.
TEST_CASE("tied: of an asynchronous run the first stage waits for the exchange, the others go on") {
  const Plan plan = straight(3, 200, "pipedream");
  const auto period = [&](std::int64_t bytes) {
    LayerGraph graph = first_and_last();
    graph.tied[0].bytes = Bytes(bytes);
    return evaluate_plan(graph, pairwise(3, kTiedBandwidth), plan).period->value();
  };
  CHECK(period(60) == doctest::Approx(8));
  CHECK(period(10) == doctest::Approx(3));
}

// The first stage has a round of 3 microbatches, the last one of 2: they exchange after 6.
TEST_CASE("tied: an asynchronous run exchanges when rounds of all stages end") {
  const Plan plan = staged({{0}, {1}, {2}}, {{0, 1, 2}, {3}, {4, 5}}, 60, "pipedream");
  std::set<std::uint32_t> exchanges;
  const auto note = [&](const Span& /*span*/, const Op& op, std::span<const MemoryDelta> /*deltas*/) {
    const bool is_tied = op.kind == OpKind::CollectiveEnd && op.chunk == plan.stages.size();
    if (is_tied) exchanges.insert(op.microbatch);
  };
  CHECK(evaluate_plan(first_and_last(), pairwise(6, 1e9), plan, {}, {}, note).period);
  CHECK(exchanges.size() == 10);
}

// Stage 0 runs every microbatch, and updates its 40 bytes alone after each backward; with every third one, after which
// all replicas of stage 1 have run one, it also has the 60 in common. 4 copies of a byte take 0.4 s.
TEST_CASE("tied: an asynchronous update changes common parameters only where their all-reduce is due") {
  LayerGraph graph = chain(2, 1, 2, 0, 0, 100);
  graph.tied = {{{LayerId(0), LayerId(1)}, Bytes(60)}};
  PlatformSpec spec = pairwise(4, 1e9).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(10);
  const Platform platform = build_platform(std::move(spec));
  Plan plan = staged({{0}, {1}}, {{0}, {1, 2, 3}}, 30, "pipedream");
  std::map<double, int> updates;
  const auto note = [&](const Span&, const Op& op, std::span<const MemoryDelta>) {
    if (op.kind == OpKind::Update && op.stage == StageId(0)) ++updates[op.seconds.value()];
  };
  const Report report = evaluate_plan(graph, platform, plan, {}, {}, note);
  CHECK(report.period);
  REQUIRE(updates.size() == 2);
  CHECK(updates.begin()->first == doctest::Approx(16));
  CHECK(updates.begin()->second == 20);
  CHECK(updates.rbegin()->first == doctest::Approx(40));
  CHECK(updates.rbegin()->second >= 9);
}

TEST_CASE("tied: stages that are not connected cannot have common parameters") {
  PlatformSpec spec = pairwise(3).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  const LinkSpec link = *form.default_link;
  form.default_link.reset();
  for (std::size_t i = 0; i < 2; ++i) form.links.push_back({"", std::pair(DeviceId(i), DeviceId(i + 1)), link});
  const Platform line = build_platform(std::move(spec));
  const Plan plan = straight(3, 4, "1f1b");
  CHECK(check_plan(chain(3, 1, 2, 0, 0, 100), line, plan).empty());
  const std::vector<Violation> found = check_plan(first_and_last(), line, plan);
  REQUIRE(!found.empty());
  CHECK(found.front().rule == Violation::Rule::Connection);
}

TEST_CASE("tied: a layer with common parameters does not migrate while training runs") {
  LayerGraph graph = chain(4, 1, 2, 0, 0, 100);
  graph.tied = {{{LayerId(1), LayerId(3)}, Bytes(60)}};
  const Plan before = staged({{0, 1}, {2, 3}}, {{0}, {1}}, 100, "pipedream");
  const Plan after = staged({{0}, {1, 2, 3}}, {{0}, {1}}, 100, "pipedream");
  CHECK(std::holds_alternative<std::string>(layer_moves(graph, before, after)));
  graph.tied.clear();
  CHECK(std::holds_alternative<LayerMoves>(layer_moves(graph, before, after)));
}

}  // namespace stagecraft
