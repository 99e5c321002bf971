#include "planners/shared/turns/turn_order.hpp"

#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <variant>

namespace stagecraft::turn_order_test {

using namespace stagecraft::testing;

namespace {

using Devices = std::vector<std::uint32_t>;

/// One layer in each stage, on these devices.
Plan plan_of(const std::vector<Devices>& stages, Replication replication = Replication::RoundRobin) {
  Plan plan;
  plan.schedule = {"1f1b", {}};
  plan.microbatch_size = 64;
  plan.microbatches = 64;
  for (const Devices& devices : stages) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = {LayerId(plan.stages.size() - 1)};
    stage.replication = replication;
    for (std::uint32_t device : devices) stage.replicas.emplace_back(DeviceId(device));
  }
  return plan;
}

Devices numbers_of(const Stage& stage) {
  Devices numbers;
  for (DeviceId device : devices_of(stage)) numbers.push_back(device.value());
  return numbers;
}

Devices ring_of(const Stage& stage) {
  const Devices turns = numbers_of(stage);
  if (stage.ring.empty()) return turns;
  Devices ring;
  for (std::uint32_t at : stage.ring) ring.push_back(turns[at]);
  return ring;
}

/// Nodes of 4 devices at 25 bytes/s, joined at 1 byte/s.
Platform cluster(std::uint32_t nodes, std::uint32_t devices = 4) {
  return test::built(test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(25.0)},
                                    SwitchedNetwork{}, NicSpec{test::link_of(1.0), false}));
}

/// Every pair of devices has a link of its own, of one of a few bandwidths.
Platform random_platform(std::uint32_t devices, std::mt19937_64& random) {
  PlatformSpec spec;
  spec.name = "random";
  spec.device_kinds.push_back({"A", Bytes(1'000'000), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::uint32_t i = 0; i < devices; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  for (std::uint32_t a = 0; a < devices; ++a) {
    for (std::uint32_t b = a + 1; b < devices; ++b) {
      const double bandwidth = std::vector<double>{1.0, 4.0, 10.0, 32.0}[random() % 4];
      form.links.push_back({"", {{DeviceId(a), DeviceId(b)}}, test::link_of(bandwidth)});
    }
  }
  spec.form = form;
  return build_platform(spec);
}

/// The time of a byte between two devices at the narrowest link of their route.
double price(const Platform& platform, DeviceId a, DeviceId b) {
  return a == b ? 0.0 : 1.0 / pair_bandwidth(platform, a, b)->value();
}

/// The time of all exchanges of two stages per microbatch, by a loop over the microbatches of a common round, or over
/// the samples of a microbatch that both stages divide evenly.
double exchange_time(const Platform& platform, const Stage& from, const Stage& to) {
  const std::size_t r = from.replicas.size();
  const std::size_t q = to.replicas.size();
  const std::size_t all = std::lcm(r, q);
  double sum = 0.0;
  for (std::size_t k = 0; k < all; ++k) {
    const bool split = from.replication == Replication::Split;
    const Group& sender = from.replicas[split ? k * r / all : k % r];
    const Group& receiver = to.replicas[split ? k * q / all : k % q];
    sum += price(platform, sender.lead(), receiver.lead());
  }
  return sum / static_cast<double>(all);
}

double time_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  double sum = 0.0;
  for (const LayerEdge& edge : graph.edges) {
    const double time = exchange_time(platform, plan.stages[edge.from.value()], plan.stages[edge.to.value()]);
    sum += time * static_cast<double>(edge.bytes.value());
  }
  return sum;
}

/// The least time over all orders of the stages from `first` to before `end`.
double least_time(const LayerGraph& graph, const Platform& platform, Plan& plan, std::size_t first, std::size_t end) {
  if (first == end) return time_of(graph, platform, plan);
  std::vector<Group>& replicas = plan.stages[first].replicas;
  const std::vector<Group> before = replicas;
  double least = std::numeric_limits<double>::infinity();
  std::ranges::sort(replicas, {}, &Group::lead);
  do {
    least = std::min(least, least_time(graph, platform, plan, first + 1, end));
  } while (std::ranges::next_permutation(replicas, {}, &Group::lead).found);
  replicas = before;
  return least;
}

/// Stages with these numbers of replicas on devices in random order.
Plan random_plan(const std::vector<std::size_t>& counts, Replication replication, std::mt19937_64& random) {
  Devices devices(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  std::iota(devices.begin(), devices.end(), 0U);
  std::ranges::shuffle(devices, random);
  std::vector<Devices> stages;
  auto next = devices.begin();
  for (std::size_t count : counts) {
    stages.emplace_back(next, next + static_cast<std::ptrdiff_t>(count));
    next += static_cast<std::ptrdiff_t>(count);
  }
  return plan_of(stages, replication);
}

Replication any_replication(std::mt19937_64& random) {
  return random() % 2 == 0 ? Replication::Split : Replication::RoundRobin;
}

}  // namespace

TEST_CASE("turns: a microbatch stays in its node in PipeDream's plan of two levels") {
  const LayerGraph graph = chain({1, 1, 1});
  Plan plan = plan_of({{0, 1, 2, 4, 5, 6, 8, 9, 10}, {3, 7, 11}, {12}});
  CHECK(order_turns(graph, cluster(4), plan));
  // Microbatch k goes to turn k mod 9 and to turn k mod 3: both are in node k mod 3.
  CHECK(numbers_of(plan.stages[0]) == Devices{0, 4, 8, 1, 5, 9, 2, 6, 10});
  CHECK(numbers_of(plan.stages[1]) == Devices{3, 7, 11});
  CHECK(ring_of(plan.stages[0]) == Devices{0, 1, 2, 4, 5, 6, 8, 9, 10});
  CHECK(plan.stages[1].ring.empty());
}

TEST_CASE("turns: numbers of replicas of which none is a multiple of the other") {
  const LayerGraph graph = chain({1, 1});
  Plan plan = plan_of({{0, 1, 2, 5, 6, 7, 10, 11, 12}, {3, 4, 8, 9, 13, 14}});
  CHECK(order_turns(graph, cluster(3, 5), plan));
  CHECK(time_of(graph, cluster(3, 5), plan) == doctest::Approx(10.0 / 25.0));  // all inside a node
}

TEST_CASE("turns: shares of a divided microbatch stay in their node") {
  const LayerGraph graph = chain({1, 1});
  Plan plan = plan_of({{0, 4, 1, 5}, {2, 6}}, Replication::Split);
  CHECK(order_turns(graph, cluster(2), plan));
  CHECK(numbers_of(plan.stages[0]) == Devices{0, 1, 4, 5});
  CHECK(ring_of(plan.stages[0]) == Devices{0, 4, 1, 5});
}

TEST_CASE("turns: an order that is as good as any stays") {
  const LayerGraph graph = chain({1, 1});
  for (const Replication replication : {Replication::RoundRobin, Replication::Split}) {
    const Plan planned = plan_of({{5, 1, 4, 0}, {7, 3, 6, 2}}, replication);
    Plan plan = planned;
    CHECK_FALSE(order_turns(graph, cluster(2), plan));
    CHECK(plan == planned);
  }
  const Plan planned = plan_of({{3, 0, 1}, {2, 5}});  // every replica of one stage meets every replica of the other
  Plan plan = planned;
  CHECK_FALSE(order_turns(graph, cluster(2), plan));
  CHECK(plan == planned);
}

TEST_CASE("turns: the ring that a plan gives stays the same") {
  const LayerGraph graph = chain({1, 1});
  Plan plan = plan_of({{0, 4}, {6, 2}});
  plan.stages[0].ring = plan.stages[1].ring = {1, 0};
  CHECK(order_turns(graph, cluster(2), plan));
  CHECK(numbers_of(plan.stages[1]) == Devices{2, 6});
  CHECK(ring_of(plan.stages[0]) == Devices{4, 0});
  CHECK(plan.stages[1].ring.empty());  // the order of turns has become that of the ring
}

TEST_CASE("turns: stages of one device keep turns with which their schedule runs") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  int refused = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Platform platform = random_platform(6, random);
    Plan plan = plan_of({{0, 1, 2}, {3, 4, 5}, {3, 4, 5}, {0, 1, 2}});
    plan.schedule = {"zb-v", {}};
    const PlanRequest request{graph, platform, plan.schedule, plan.microbatches, {}, Options({})};
    Plan alone = plan;
    order_turns(graph, platform, alone);
    const auto runs = [&](const Plan& each) {
      return std::holds_alternative<ScheduleProgram>(compile_schedule(graph, platform, each));
    };
    refused += runs(alone) ? 0 : 1;
    const Plan ordered = with_ordered_turns(request, {plan, {}, {}}).plan;
    CHECK(runs(ordered));
    CHECK(ordered.stages == (runs(alone) ? alone : plan).stages);
  }
  CHECK(refused > 0);
  CHECK(refused < 60);
}

TEST_CASE("turns: stages with equally many replicas take the least time of all orders") {
  std::mt19937_64 random(7);
  for (int i = 0; i < random_cases(60); ++i) {
    const std::size_t stages = 2 + random() % 2;
    const std::vector<std::size_t> counts(stages, stages == 2 ? 2 + random() % 4 : 2 + random() % 2);
    const LayerGraph graph = chain(std::vector<double>(stages, 1.0));
    const Platform platform = random_platform(12, random);
    Plan plan = random_plan(counts, any_replication(random), random);
    order_turns(graph, platform, plan);
    const double time = time_of(graph, platform, plan);
    CAPTURE(i);
    CHECK(time == doctest::Approx(least_time(graph, platform, plan, 0, stages)).epsilon(1e-5));
  }
}

TEST_CASE("turns: two stages, one with a multiple of the other's replicas, take the least time of all orders") {
  std::mt19937_64 random(8);
  const LayerGraph graph = chain({1, 1});
  for (int i = 0; i < random_cases(60); ++i) {
    std::vector<std::size_t> counts = {2 + random() % 2, 4 + 2 * (random() % 2)};
    if (counts[0] == 3) counts[1] = 6;
    if (random() % 2 == 0) std::swap(counts[0], counts[1]);
    const Platform platform = random_platform(12, random);
    Plan plan = random_plan(counts, any_replication(random), random);
    order_turns(graph, platform, plan);
    const double time = time_of(graph, platform, plan);
    CAPTURE(i);
    CHECK(time == doctest::Approx(least_time(graph, platform, plan, 0, 2)).epsilon(1e-5));
  }
}

TEST_CASE("turns: with skip connections no order of one stage is better, nor is the plan's own") {
  std::mt19937_64 random(9);
  for (int i = 0; i < random_cases(100); ++i) {
    const std::size_t stages = 3 + random() % 2;
    LayerGraph graph = chain(std::vector<double>(stages, 1.0));
    graph.edges.push_back({LayerId(0), LayerId(2), Bytes(10)});
    if (stages == 4) graph.edges.push_back({LayerId(1), LayerId(3), Bytes(10)});
    std::vector<std::size_t> counts;
    for (std::size_t s = 0; s < stages; ++s) counts.push_back(2 + random() % 3);
    const Platform platform = random_platform(16, random);
    const Plan planned = random_plan(counts, any_replication(random), random);
    Plan plan = planned;
    order_turns(graph, platform, plan);
    const double time = time_of(graph, platform, plan) * (1 - 1e-5);
    CAPTURE(i);
    CHECK(time <= time_of(graph, platform, planned));
    for (std::size_t s = 0; s < stages; ++s) CHECK(time <= least_time(graph, platform, plan, s, s + 1));
    for (std::size_t s = 0; s < stages; ++s) CHECK(ring_of(plan.stages[s]) == numbers_of(planned.stages[s]));
  }
}

TEST_CASE("turns: 4,096 devices in 256 nodes") {
  const std::uint32_t nodes = random_cases(256U);
  const LayerGraph graph = chain({1, 1});
  std::vector<Devices> stages(2);  // the two halves of each node, the second ones from the last node to the first
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      stages[0].push_back(node * 16 + i);
      stages[1].push_back((nodes - 1 - node) * 16 + 8 + i);
    }
  }
  const Platform platform = cluster(nodes, 16);
  Plan plan = plan_of(stages);
  CHECK(order_turns(graph, platform, plan));
  CHECK(time_of(graph, platform, plan) == doctest::Approx(10.0 / 25.0));
}

TEST_CASE("turns: a plan that would no longer fit in memory keeps its order") {
  // Only microbatch 0 is run, so only devices with turn 0 hold a stash of 10 bytes. The state of training takes
  // 4 * 100 bytes and two buffers of 10 bytes: gpu1 has no memory for a stash.
  PlatformSpec spec;
  for (const auto& [name, memory] : {std::pair("A", 1000), std::pair("B", 425)}) {
    spec.device_kinds.push_back({name, Bytes(memory), 1.0, Bytes(0), std::nullopt});
  }
  ExplicitForm form;
  for (std::uint32_t i = 0; i < 4; ++i) {
    form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(i == 1 ? 1 : 0), {}});
  }
  for (std::uint32_t i : {0U, 2U}) form.links.push_back({"", {{DeviceId(i), DeviceId(i + 1)}}, test::link_of(10.0)});
  form.default_link = test::link_of(1.0);
  spec.form = form;
  const LayerGraph graph = chain({1, 1});
  Plan plan = plan_of({{0, 2}, {3, 1}});
  plan.microbatches = 1;
  for (const bool is_roomy : {false, true}) {
    if (is_roomy) spec.device_kinds[DeviceKindId(1)].memory = Bytes(1000);
    const Platform platform = build_platform(spec);
    const Options options = parse_options(find_planner("uniform"), {});
    const Planned ordered = with_ordered_turns({graph, platform, plan.schedule, 1, {}, options}, {plan, {}});
    CHECK((ordered.plan.stages == plan.stages) == !is_roomy);
  }
}

}  // namespace stagecraft::turn_order_test
