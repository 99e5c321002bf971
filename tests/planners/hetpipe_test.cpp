#include "planners/hetpipe/allocation.hpp"
#include "planners/hetpipe/worker_cut.hpp"
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace stagecraft::hetpipe_test {

using namespace stagecraft::testing;
using hetpipe::Allocation;
using hetpipe::virtual_workers;
using hetpipe::Worker;

namespace {

const PlannerInfo& planner() { return as_in_paper("hetpipe"); }

Plan plan_of(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result).plan;
}

/// Nodes of as many devices each, the kinds `A`, `B`, … of speeds 1, 1/2, 1/3, … in turn.
Platform cluster(std::uint32_t nodes, std::uint32_t devices, std::uint32_t kinds = 1, double inside = 1000.0,
                 double nic = 100.0) {
  NodeForm form = test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(inside)}, SwitchedNetwork{},
                                 NicSpec{test::link_of(nic), false});
  PlatformSpec spec;
  spec.name = "cluster";
  for (std::uint32_t kind = 0; kind < kinds; ++kind) {
    spec.device_kinds.push_back({std::string(1, static_cast<char>('A' + kind)), Bytes(1'000'000),
                                 1.0 / (1.0 + static_cast<double>(kind)), Bytes(0), std::nullopt});
    if (kind > 0) form.node_kinds.push_back(form.node_kinds[NodeKindId(0)]);
    form.node_kinds[NodeKindId(kind)].name = "node" + std::to_string(kind);
    form.node_kinds[NodeKindId(kind)].device_kind = DeviceKindId(kind);
  }
  form.groups.clear();
  for (std::uint32_t node = 0; node < nodes; ++node) form.groups.push_back({NodeKindId(node % kinds), 1});
  spec.form = form;
  return build_platform(spec);
}

std::vector<Worker> workers_of(const std::vector<std::vector<std::uint32_t>>& numbers) {
  std::vector<Worker> workers;
  for (const std::vector<std::uint32_t>& each : numbers) {
    workers.emplace_back();
    for (std::uint32_t device : each) workers.back().emplace_back(device);
  }
  return workers;
}

/// The least largest stage time over every cut, by the definition: computation, overheads, what is received.
double best_of_all_cuts(const hetpipe::WorkerCosts& costs, std::size_t begin, std::size_t s) {
  const std::size_t layers = costs.prefix.size() - 1;
  const std::size_t stages = costs.factors.size();
  double best = std::numeric_limits<double>::infinity();
  const bool is_last = s + 1 == stages;
  for (std::size_t end = is_last ? layers : begin + 1; end + (stages - s - 1) <= layers; ++end) {
    double time = (costs.prefix[end] - costs.prefix[begin]) * costs.factors[s] + costs.overheads[s];
    if (s > 0) time += costs.transfers[s - 1][begin];
    if (!is_last) time += costs.transfers[s][end];
    best = std::min(best, is_last ? time : std::max(time, best_of_all_cuts(costs, end, s + 1)));
  }
  return best;
}

}  // namespace

TEST_CASE("hetpipe: virtual workers by node, equally, and of a fast and a slow node") {
  const LayerGraph graph = chain({1});
  const Platform platform = cluster(2, 4);
  CHECK(virtual_workers(graph, platform, Allocation::Node, 0) == workers_of({{0, 1, 2, 3}, {4, 5, 6, 7}}));
  CHECK(virtual_workers(graph, platform, Allocation::Node, 2) == workers_of({{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  CHECK(virtual_workers(graph, platform, Allocation::Equal, 0) == workers_of({{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  CHECK(virtual_workers(graph, platform, Allocation::Equal, 4) == workers_of({{0, 1, 4, 5}, {2, 3, 6, 7}}));
  // Four kinds of nodes as in the paper's cluster: VVQQ and RRGG.
  const Platform mixed = cluster(4, 4, 4);
  CHECK(virtual_workers(graph, mixed, Allocation::Hybrid, 0) ==
        workers_of({{0, 1, 12, 13}, {2, 3, 14, 15}, {4, 5, 8, 9}, {6, 7, 10, 11}}));
  CHECK(virtual_workers(graph, flat_platform(3), Allocation::Node, 0) == workers_of({{0, 1, 2}}));
}

TEST_CASE("hetpipe: a worker is a part of a node, or several whole nodes") {
  const LayerGraph graph = chain({1});
  CHECK(virtual_workers(graph, cluster(4, 2), Allocation::Node, 4) == workers_of({{0, 1, 2, 3}, {4, 5, 6, 7}}));
  using Sizes = std::vector<std::int64_t>;
  CHECK(hetpipe::worker_sizes(graph, cluster(4, 4), Allocation::Node) == Sizes{4, 1, 2, 8, 16});
  CHECK(hetpipe::worker_sizes(graph, cluster(3, 4), Allocation::Node) == Sizes{4, 1, 2, 12});
  CHECK(hetpipe::worker_sizes(graph, cluster(2, 4), Allocation::Equal) == Sizes{2, 4, 8});
  CHECK(hetpipe::worker_sizes(graph, cluster(2, 4), Allocation::Hybrid) == Sizes{4, 2, 8});
}

TEST_CASE("hetpipe: the size of a worker is the one with which an iteration takes least") {
  std::mt19937 random(12);
  int other = 0;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    std::vector<double> times(3 + random() % 6);
    for (double& time : times) time = static_cast<double>(1 + random() % 9);
    const LayerGraph graph = chain(times);
    const Platform platform = cluster(2, 4);
    const Plan plan = plan_of(run_planner(find_planner("hetpipe"), graph, platform, {}, 16));
    double least = std::numeric_limits<double>::infinity();
    for (const std::string size : {"1", "2", "4", "8"}) {
      const Plan of_size = plan_of(run_planner(planner(), graph, platform, {{"worker_size", size}}, 16));
      least = std::min(least, evaluate_plan(graph, platform, of_size).iterations.back().value());
    }
    CHECK(evaluate_plan(graph, platform, plan).iterations.back().value() == doctest::Approx(least).epsilon(1e-9));
    other += plan.stages.front().replicas.size() == 2 ? 0 : 1;
  }
  CHECK(other > 5);
}

TEST_CASE("hetpipe: workers that the nodes do not yield are refused") {
  const LayerGraph graph = chain({1});
  CHECK_THROWS_AS((void)virtual_workers(graph, cluster(2, 4), Allocation::Node, 3), InputError);
  CHECK_THROWS_AS((void)virtual_workers(graph, cluster(2, 4), Allocation::Equal, 3), InputError);
  CHECK_THROWS_AS((void)virtual_workers(graph, cluster(3, 4), Allocation::Hybrid, 0), InputError);
  CHECK_THROWS_AS((void)virtual_workers(graph, cluster(2, 4), Allocation::Hybrid, 6), InputError);
}

TEST_CASE("hetpipe: the cut is the best of all cuts on 500 random workers") {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const std::size_t layers = 1 + random() % 8;
    hetpipe::WorkerCosts costs;
    costs.prefix = {0.0};
    for (std::size_t i = 0; i < layers; ++i) {
      costs.prefix.push_back(costs.prefix.back() + static_cast<double>(random() % 8));
    }
    const std::size_t stages = 1 + random() % std::min<std::size_t>(layers, 4);
    for (std::size_t s = 0; s < stages; ++s) {
      costs.factors.push_back(1.0 + static_cast<double>(random() % 3));
      costs.overheads.push_back(static_cast<double>(round % 2 == 0 ? random() % 3 : 0));
      costs.transfers.emplace_back(layers + 1);
      for (double& time : costs.transfers.back()) time = static_cast<double>(random() % 4);
    }
    const hetpipe::WorkerCut cut = hetpipe::cut_worker(costs);
    CHECK(cut.stage_time == best_of_all_cuts(costs, 0, 0));
    double largest = 0.0;
    for (std::size_t s = 0; s < stages; ++s) {
      const std::size_t end = s + 1 < stages ? cut.first[s + 1] : layers;
      REQUIRE(cut.first[s] < end);
      largest = std::max(largest, costs.stage(s, cut.first[s], end));
    }
    CHECK(largest == cut.stage_time);
  }
}

TEST_CASE("hetpipe: each microbatch stays in one virtual worker") {
  const LayerGraph graph = chain({1, 2, 1, 2, 1, 1});
  const Platform platform = cluster(2, 4);
  for (const std::string allocation : {"node", "equal"}) {
    CAPTURE(allocation);
    const Plan plan = plan_of(run_planner(planner(), graph, platform, {{"allocation", allocation}}, 11));
    const std::vector<Worker> workers = virtual_workers(graph, platform, hetpipe::allocation_of(allocation), 0);
    Timeline timeline;
    (void)evaluate_plan(graph, platform, plan, {}, {}, collect_into(timeline));
    std::size_t transfers = 0;
    for (const TimelineEntry& entry : timeline) {
      const bool boundary = entry.kind == OpKind::Activation || entry.kind == OpKind::Gradient;
      if (!boundary && entry.kind != OpKind::Forward && entry.kind != OpKind::Backward) continue;
      const Worker& worker = workers[entry.microbatch % workers.size()];
      CHECK(std::ranges::count(worker, platform.device(entry.from)) == 1);
      if (!boundary) continue;
      ++transfers;
      CHECK(std::ranges::count(worker, platform.device(entry.to)) == 1);
    }
    CHECK(transfers == 22 * (workers[0].size() - 1));
  }
}

TEST_CASE("hetpipe: workers run as so many pipelines of their own, and synchronise at the end") {
  LayerGraph graph = chain({1, 2, 1, 2});
  for (Layer& layer : graph.layers) layer.parameters = Bytes(0);
  const Plan both = plan_of(run_planner(planner(), graph, cluster(2, 4), {}, 12));
  const Plan alone = plan_of(run_planner(planner(), graph, cluster(1, 4), {}, 6));
  REQUIRE(both.stages.size() == 4);
  CHECK(both.stages[1].replicas == std::vector<Group>{DeviceId(1), DeviceId(5)});
  for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
    const double two = evaluate_plan(graph, cluster(2, 4), both, {.network = network}).iterations.back().value();
    const double one = evaluate_plan(graph, cluster(1, 4), alone, {.network = network}).iterations.back().value();
    if (network == NetworkModel::Platform) CHECK(two == doctest::Approx(one).epsilon(1e-12));
    CHECK(two >= one * (1 - 1e-12));
  }
  CHECK(both.predicted.iteration_time == alone.predicted.iteration_time);
}

TEST_CASE("hetpipe: a claim by hand, with what is received and the longest all-reduce") {
  // Stages of 3 s and 0.01 s received from either side at 1000 B/s; six rounds of two workers. The all-reduce of a
  // stage is 2 · 1 / 2 · 100 B over 100 B/s.
  const PlanResult result = run_planner(planner(), chain({1, 1, 1}), cluster(2, 3), {}, 12);
  const Plan plan = plan_of(result);
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx((6 + 3 - 1) * 3.02 + 1.0).epsilon(1e-12));
  const Detail::List first = {std::string("gpu0"), std::string("gpu1"), std::string("gpu2")};
  const Detail::List second = {std::string("gpu3"), std::string("gpu4"), std::string("gpu5")};
  const Detail::Record expected = {{"workers", std::int64_t{2}},
                                   {"worker_size", std::int64_t{3}},
                                   {"stage_time_s", 3.02},
                                   {"synchronisation_s", 1.0},
                                   {"virtual_workers", Detail::List{Detail(first), Detail(second)}}};
  CHECK(std::get<Planned>(result).details.size() == expected.size());
  CHECK(std::get<Planned>(result).details[4] == expected[4]);
  CHECK(std::get<Planned>(result).details[0] == expected[0]);
}

TEST_CASE("hetpipe: unequal workers share the cut of the slowest, a mixed worker gives its slow devices less") {
  // Node workers on A and B: every position counts twice. Equal workers hold an A and a B each: 2/3 of six equal layers
  // on A.
  const LayerGraph graph = chain({1, 1, 1, 1, 1, 1});
  const Platform platform = cluster(2, 2, 2, 1e6, 1e6);
  const Plan by_node = plan_of(run_planner(planner(), graph, platform));
  CHECK(by_node.stages[0].layers.size() == 3);
  const Plan equal = plan_of(run_planner(planner(), graph, platform, {{"allocation", "equal"}}));
  CHECK(equal.stages[0].layers.size() == 4);
  CHECK(equal.predicted.iteration_time < by_node.predicted.iteration_time);
}

TEST_CASE("hetpipe: one device, more devices than layers, fewer microbatches than workers, layers without cost") {
  CHECK(plan_of(run_planner(planner(), chain({1, 2}), flat_platform(1))).stages.size() == 1);
  const Plan few = plan_of(run_planner(planner(), chain({1, 2}), cluster(2, 4)));
  REQUIRE(few.stages.size() == 2);
  CHECK(few.stages[1].replicas == std::vector<Group>{DeviceId(1), DeviceId(5)});
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Plan one = plan_of(run_planner(planner(), graph, cluster(4, 2), {}, 1));
  CHECK(evaluate_plan(graph, cluster(4, 2), one).iterations.back().value() > 0.0);
  CHECK(plan_of(run_planner(planner(), chain({0, 0}), cluster(2, 2))).predicted.iteration_time->value() > 0.0);
}

TEST_CASE("hetpipe: a link that is missing inside a worker is refused") {
  PlatformSpec spec = flat_platform(3).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  form.links.push_back({"", std::pair(DeviceId(0), DeviceId(1)), *form.default_link});
  form.default_link.reset();
  CHECK_THROWS_AS((void)run_planner(planner(), chain({1, 1, 1}), build_platform(spec)), InputError);
}

}  // namespace stagecraft::hetpipe_test
