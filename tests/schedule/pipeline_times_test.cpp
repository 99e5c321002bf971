#include "sim/schedule/pipeline_times.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

/// Three layers of 1 s forward, 2 s backward; 6 bytes between neighbours and 4 more from the first to the last.
LayerGraph skipping() {
  LayerGraph graph = chain(3, 1, 2, 6, 0, 8);
  graph.edges.push_back({LayerId(0), LayerId(2), Bytes(4)});
  return graph;
}

TEST_CASE("pipeline times: a cut carries all that crosses it, shared among the pairs of parts") {
  Plan plan = straight(3, 4, "1f1b");
  const Platform platform = pairwise(4, 2);
  // The tensor that skips is the first layer's own, of 6 bytes at most, and counts once in the first cut.
  const PipelineTimes straight_times = pipeline_times(skipping(), platform, {skipping(), platform, plan});
  CHECK(straight_times.resources[1] == BlockTimes{Seconds(3), Seconds(3)});
  CHECK(straight_times.resources[3] == BlockTimes{Seconds(5), Seconds(5)});
  CHECK(straight_times.resources[2] == BlockTimes{Seconds(1), Seconds(2)});
  CHECK(pipeline_load(straight_times, 4, false) == Seconds(40));
  CHECK(pipeline_load(straight_times, 4, true) == Seconds(20));

  plan.stages[1].replicas = {DeviceId(1), DeviceId(3)};
  plan.stages[1].replication = Replication::Split;
  const PipelineTimes split = pipeline_times(skipping(), platform, {skipping(), platform, plan});
  CHECK(split.resources[1] == BlockTimes{Seconds(1.5), Seconds(1.5)});
  CHECK(split.resources[2] == BlockTimes{Seconds(0.5), Seconds(1)});
  CHECK(split.alternating == std::vector<std::int64_t>{1, 1, 1});
  CHECK(split.synchronise == std::vector<Seconds>{Seconds(0), Seconds(4), Seconds(0)});  // 8 bytes at 2 bytes/s

  plan.stages[1].replication = Replication::RoundRobin;
  const PipelineTimes alternating = pipeline_times(skipping(), platform, {skipping(), platform, plan});
  CHECK(alternating.resources[1] == straight_times.resources[1]);
  CHECK(alternating.alternating == std::vector<std::int64_t>{1, 2, 1});
  CHECK(alternating.pace == std::vector<std::vector<double>>{{}, {}, {}});
}

TEST_CASE("pipeline times: the load counts what the busiest of unequal replicas has to do") {
  PipelineTimes times{{{Seconds(2), Seconds(4)}}, {2}, {{0.5, 1.0}}, {Seconds(1)}};
  CHECK(pipeline_load(times, 3, false) == Seconds(7));  // two at half the time and one in full: 6 and 6
  CHECK(pipeline_load(times, 4, false) == Seconds(13));
  CHECK(pipeline_load(times, 1, false) == Seconds(4));  // the slow one has none
  times.pace = {{}};
  CHECK(pipeline_load(times, 3, false) == Seconds(13));
}

/// Two devices with 2 B/s from the first to the second and 1 B/s back.
Platform lopsided() {
  PlatformSpec spec;
  spec.name = "lopsided";
  spec.device_kinds.push_back({"K", Bytes(1 << 30), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  form.devices.push_back({"gpu0", DeviceKindId(0), std::nullopt});
  form.devices.push_back({"gpu1", DeviceKindId(0), std::nullopt});
  form.links.push_back({"there", std::nullopt, {BytesPerSecond(2), Seconds(0), Duplex::Full, Sharing::Fair}});
  form.links.push_back({"back", std::nullopt, {BytesPerSecond(1), Seconds(0), Duplex::Full, Sharing::Fair}});
  form.routes.push_back({DeviceId(0), DeviceId(1), {0}});
  form.routes.push_back({DeviceId(1), DeviceId(0), {1}});
  spec.form = form;
  return build_platform(std::move(spec));
}

TEST_CASE("pipeline times: of the two directions of a pair the slower one counts") {
  // 6 bytes take 3 s there and 6 s back; the gradient has the size of the activation.
  const LayerGraph graph = chain(2, 1, 2, 6);
  const PipelineTimes times = pipeline_times(graph, lopsided(), {graph, lopsided(), straight(2, 4, "1f1b")});
  CHECK(times.resources[1] == BlockTimes{Seconds(6), Seconds(6)});
  Plan replicated = straight(1, 4, "1f1b");
  replicated.stages[0].layers = {LayerId(0), LayerId(1)};
  replicated.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  CHECK(smallest_bandwidth_among(lopsided(), devices_of(replicated.stages[0])) == BytesPerSecond(1));
  LowerOptions analytic;
  analytic.network = NetworkModel::Analytic;
  const Report run = evaluate_plan(graph, lopsided(), straight(2, 4, "1f1b"), analytic);
  CHECK(pipeline_load(times, 4, false) == Seconds(48));
  CHECK(run.iterations.back() >= Seconds(48));
}

TEST_CASE("pipeline times: the run passes tensors on, and an all-reduce goes at the slowest pair") {
  LowerOptions options;
  options.network = NetworkModel::Analytic;
  Plan plan = straight(3, 1, "1f1b");
  // 1, 3, 1, 5, 1 forward, 2, 5, 2, 3, 2 backward.
  CHECK(evaluate_plan(skipping(), pairwise(3, 2), plan, options).iterations.back() == Seconds(25));

  plan.stages = {plan.stages[0]};
  plan.stages[0].layers = {LayerId(0), LayerId(1), LayerId(2)};
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)};
  plan.microbatches = 4;
  PlatformSpec spec = pairwise(4, 2).spec;
  const Platform even = build_platform(spec);
  // Nine seconds of work, then 3/2 of 24 bytes.
  CHECK(evaluate_plan(skipping(), even, plan, options).iterations.back() == Seconds(9 + 18));
  CHECK(pipeline_times(skipping(), even, {skipping(), even, plan}).synchronise.front() == Seconds(18));
}

}  // namespace
}  // namespace stagecraft
