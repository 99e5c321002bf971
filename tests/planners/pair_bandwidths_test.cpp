#include "planners/shared/costs/pair_bandwidths.hpp"

#include "planners/dapple/problem.hpp"
#include "planners/dapple/search.hpp"
#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/families/spp_pe/processing_run.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/dapple_cases.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::pair_bandwidths_test {

using namespace stagecraft::testing;

namespace {

/// What the channel of two devices gets in one direction, and if both directions are used at once.
std::pair<double, double> shared(const Platform& platform, std::uint32_t a, std::uint32_t b) {
  const PairBandwidths nominal = pair_bandwidths(platform);
  const auto between = [&](PairShare share) {
    const PairBandwidths pairs = channel_bandwidths(platform, nominal, share);
    CHECK(pairs.between(DeviceId(b), DeviceId(a)) == pairs.between(DeviceId(a), DeviceId(b)));
    return pairs.between(DeviceId(a), DeviceId(b)).value();
  };
  CHECK(between(PairShare::Nominal) == nominal.between(DeviceId(a), DeviceId(b)).value());
  return {between(PairShare::OneWay), between(PairShare::BothWays)};
}

Platform three_of_four(double device_link, const NicSpec& card) {
  const Interconnect inside{SwitchedNode{}, test::link_of(device_link)};
  return test::built(test::nodes_of(3, 4, inside, SwitchedNetwork{}, card));
}

using Shares = std::pair<double, double>;

TEST_CASE("pair bandwidth shared: all pairs of two nodes divide a card, and nothing inside a node is divided") {
  const NicSpec card{test::link_of(160), false};
  CHECK(shared(three_of_four(1000, card), 0, 3) == Shares(1000, 1000));
  CHECK(shared(three_of_four(1000, card), 0, 4) == Shares(10, 10));   // 4 x 4 pairs cross it in each direction
  CHECK(shared(three_of_four(1000, card), 11, 2) == Shares(10, 10));  // whatever the third node does
  CHECK(shared(three_of_four(8, card), 0, 4) == Shares(2, 2));        // a device's own link has four of them
  CHECK(shared(three_of_four(1000, {test::link_of(160), true}), 0, 4) == Shares(40, 40));  // a card for each device
}

TEST_CASE("pair bandwidth shared: a half-duplex card is divided again only where both directions are used at once") {
  const NicSpec card{test::link_of(160, 0.0, Duplex::Half), false};
  CHECK(shared(three_of_four(1000, card), 0, 4) == Shares(10, 5));
}

TEST_CASE("pair bandwidth shared: nodes of unequal sizes have the product of their sizes") {
  NodeForm form = test::nodes_of(1, 4, Interconnect{SwitchedNode{}, test::link_of(1000)}, SwitchedNetwork{},
                                 NicSpec{test::link_of(120), false});
  NodeKind small = form.node_kinds[NodeKindId(0)];
  small.name = "small";
  small.device_count = 2;
  small.nic = NicSpec{test::link_of(40), false};
  form.node_kinds.push_back(small);
  form.groups = {{NodeKindId(0), 2}, {NodeKindId(1), 1}};  // devices 0 to 3, 4 to 7, and 8 and 9
  const Platform platform = test::built(form);
  CHECK(shared(platform, 0, 4) == Shares(7.5, 7.5));  // 120 / 16
  CHECK(shared(platform, 0, 8) == Shares(5, 5));      // 40 / 8
  CHECK(shared(platform, 9, 7) == Shares(5, 5));
  CHECK(shared(platform, 8, 9) == Shares(1000, 1000));
}

TEST_CASE("pair bandwidth shared: an explicit platform has no nodes, so nothing is divided") {
  PlatformSpec spec = flat_platform(4, 7.0).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  form.links.push_back({"", std::pair(DeviceId(0), DeviceId(2)), test::link_of(20)});
  const Platform platform = build_platform(spec);
  CHECK(shared(platform, 0, 2) == Shares(20, 20));
  CHECK(shared(platform, 1, 3) == Shares(7, 7));
}

Plan plan_with(const PlannerInfo& planner, const LayerGraph& graph, const Platform& platform, const char* option,
               std::int64_t microbatches) {
  const PlanResult result = run_planner(planner, graph, platform, {{"pair_bandwidth", option}}, microbatches);
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result).plan;
}

/// The plan's times with channels that share cards, and with the all-reduces of the run.
PipelineTimes shared_times(const LayerGraph& graph, const Platform& platform, const Plan& plan, PairShare share) {
  PipelineTimes times = pipeline_times(graph, platform, {graph, platform, plan}, NetworkModel::Platform);
  const PairBandwidths channels = channel_bandwidths(platform, pair_bandwidths(platform), share);
  for (std::size_t s = 1; s < plan.stages.size(); ++s) {
    double least = 1e300;
    for (DeviceId a : devices_of(plan.stages[s - 1])) {
      for (DeviceId b : devices_of(plan.stages[s])) least = std::min(least, channels.between(a, b).value());
    }
    const double flows = static_cast<double>(plan.stages[s - 1].replicas.size() * plan.stages[s].replicas.size());
    const double bytes = static_cast<double>(chain_boundaries(graph, plan)[s - 1].bytes.value());
    times.resources[2 * s - 1] = {Seconds(bytes / least / flows), Seconds(bytes / least / flows)};
  }
  return times;
}

TEST_CASE("pair bandwidth: nominal all-reduces are a ring at the slowest pair, shared ones are those of the run") {
  // One layer, so one stage on all devices: the claim is its computation and the all-reduce at 10 B/s, not at 10 / 4.
  LayerGraph graph = chain({8});
  graph.microbatch_size = 4;
  const Platform platform = dapple_test::cluster(2, 2, 1000, 10);
  // 3 microbatches of 24 s on four devices. 2 * 3 / 4 of 100 bytes in a ring; or half of them inside each node, then
  // 2 * 1 / 2 of both halves over each card, then half of them inside each node again.
  for (const auto& [option, all_reduce] :
       {std::pair("nominal", 150.0 / 10), std::pair("shared", 50.0 / 1000 + 100.0 / 10 + 50.0 / 1000)}) {
    CAPTURE(option);
    for (const char* name : {"spp", "dapple"}) {
      CAPTURE(name);
      const Plan plan = plan_with(as_in_paper(name), graph, platform, option, 3);
      REQUIRE(plan.stages.size() == 1);
      CHECK(plan.predicted.iteration_time->value() == doctest::Approx(3 * 24.0 / 4 + all_reduce).epsilon(1e-9));
    }
  }
}

TEST_CASE("spp: W, time and bound of shared cards are those of a run with such channels, on 150 random chains") {
  std::mt19937 random(5);
  int pipelines = 0;
  int other = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    LayerGraph graph = dapple_test::random_chain(random, 2 + random() % 7);
    // So many bytes that whole ones make no difference.
    constexpr std::int64_t kMany = 100'000'000;
    for (Layer& layer : graph.layers) {
      layer.parameters = layer.parameters * kMany;
      layer.output = layer.output * kMany;
    }
    for (LayerEdge& edge : graph.edges) edge.bytes = edge.bytes * kMany;
    const double nic = kMany * (2 + static_cast<double>(random() % 60));
    const Platform platform =
        dapple_test::cluster(2, 1 + random() % 4, 1000.0 * kMany, nic, Bytes(10'000'000'000 * kMany));
    const auto microbatches = static_cast<std::int64_t>(1 + random() % 12);
    const bool full = round % 3 == 0;
    const PlanResult result =
        run_planner(as_in_paper("spp"), graph, platform, {{"duplex", full ? "full" : "half"}}, microbatches);
    REQUIRE(std::holds_alternative<Planned>(result));
    const Planned& answer = std::get<Planned>(result);
    const auto detail = [&](const std::string& name) { return std::get<double>(entry(answer.details, name).value); };
    const PairShare share = full ? PairShare::BothWays : PairShare::OneWay;
    const PipelineTimes times = shared_times(graph, platform, answer.plan, share);
    const double time = answer.plan.predicted.iteration_time->value();
    const ProcessingSettings settings = processing_settings(answer.plan.schedule);
    CHECK(time == doctest::Approx(run_blocks(times, microbatches, settings).time.value()).epsilon(1e-9));
    CHECK(detail("load_s") == doctest::Approx(pipeline_load(times, microbatches, full).value()).epsilon(1e-9));
    CHECK(detail("load_s") <= time * (1 + 1e-9));
    CHECK(time <= detail("bound_s") * (1 + 1e-9));
    LowerOptions options;
    options.network = NetworkModel::Analytic;
    options.lowered_all_reduces = true;
    CHECK(evaluate_plan(graph, platform, answer.plan, options).iterations.back().value() <= time * (1 + 1e-9));
    for (std::size_t at = 1; at < times.resources.size(); at += 2) {
      options.channel_times.push_back(times.resources[at].forward);
    }
    CHECK(evaluate_plan(graph, platform, answer.plan, options).iterations.back().value() ==
          doctest::Approx(time).epsilon(1e-9));
    pipelines += answer.plan.stages.size() > 1 ? 1 : 0;
    other +=
        answer.plan.stages == plan_with(as_in_paper("spp"), graph, platform, "nominal", microbatches).stages ? 0 : 1;
  }
  CHECK(pipelines > 30);
  CHECK(other > 10);
}

TEST_CASE("dapple: blocks of shared cards are stages with the all-reduces of the run and channels with shared links") {
  std::mt19937 random(29);
  int pipelines = 0;
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const LayerGraph graph = dapple_test::random_chain(random, 2 + random() % 6);
    const Platform platform = dapple_test::cluster(2, 2, 1000, 100);
    const PlanRequest request =
        dapple_test::request_of(graph, platform, static_cast<std::int64_t>(4 + random() % 12), "shared");
    const dapple::Problem problem = dapple::problem_of(request);
    const std::vector<dapple::Block> blocks = blocks_of(problem, dapple::search(problem, {}).stages);
    const Plan plan = dapple_test::plan_of(dapple_test::planner().plan(request));
    const PipelineTimes times = shared_times(graph, platform, plan, PairShare::OneWay);
    REQUIRE(times.resources.size() == blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      CHECK(times.resources[i].forward.value() == doctest::Approx(blocks[i].forward).epsilon(1e-9));
      CHECK(times.resources[i].backward.value() == doctest::Approx(blocks[i].backward).epsilon(1e-9));
      if (i % 2 == 0) CHECK(std::abs(times.synchronise[i / 2].value() - blocks[i].synchronise) < 0.08);
    }
    pipelines += plan.stages.size() > 1 ? 1 : 0;
  }
  CHECK(pipelines > 20);
}

}  // namespace
}  // namespace stagecraft::pair_bandwidths_test
