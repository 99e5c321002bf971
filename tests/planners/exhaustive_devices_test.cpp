// The option `devices` of the planner exhaustive, and its objective `replayed`.
#include "planners/exhaustive/free_devices.hpp"
#include "planners/planner.hpp"
#include "planners/registry.hpp"
#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::exhaustive_devices_test {

using namespace stagecraft::exhaustive;
using namespace stagecraft::testing;

namespace {

struct DeviceCase {
  LayerGraph graph;
  Platform platform;
  std::vector<std::size_t> nodes;  ///< devices of each node; a device that differs from all others is one of its own
};

PlatformSpec cluster_of(std::uint32_t nodes, std::uint32_t devices, double card) {
  PlatformSpec spec;
  spec.name = "cluster";
  spec.device_kinds.push_back({"A", Bytes(1'000'000), 1.0, Bytes(0), std::nullopt});
  spec.form = test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(60)}, SwitchedNetwork{},
                             NicSpec{test::link_of(card), false});
  return spec;
}

/// Three layers on alike nodes with switches, or on devices of two kinds with links of their own.
DeviceCase random_devices(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  DeviceCase made;
  made.graph = chain({1.0 * number(1, 9), 1.0 * number(1, 9), 1.0 * number(1, 9)});
  made.graph.microbatch_size = 12;
  for (Layer& layer : made.graph.layers) {
    layer.parameters = Bytes(number(1, 200));
    layer.stash = layer.checkpoint = Bytes(number(1, 60));
  }
  for (LayerEdge& edge : made.graph.edges) edge.bytes = Bytes(number(1, 60));
  const double card = number(3, 20);
  switch (seed % 4) {
    case 0: made.nodes = {2, 2}; break;
    case 1: made.nodes = {3, 2}; break;
    case 2: made.nodes = {1, 1, 1}; break;
    default: made.nodes = {1, 1, 1, 1};
  }
  if (seed % 4 == 0) {
    made.platform = build_platform(cluster_of(2, 2, card));
  } else if (seed % 4 == 1) {  // two kinds of nodes
    PlatformSpec spec = cluster_of(1, 3, card);
    auto& form = std::get<NodeForm>(spec.form);
    form.node_kinds.push_back(NodeKind(form.node_kinds[NodeKindId(0)]));
    form.node_kinds[NodeKindId(1)].name = "small";
    form.node_kinds[NodeKindId(1)].device_count = 2;
    form.groups.push_back({NodeKindId(1), 1});
    made.platform = build_platform(spec);
  } else if (seed % 4 == 2) {
    made.platform = build_platform(cluster_of(3, 1, card));
  } else {
    PlatformSpec spec = flat_platform(4, card).spec;
    spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), std::nullopt});
    for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) device.kind = DeviceKindId(random() % 2);
    made.platform = build_platform(spec);
  }
  return made;
}

PlanRequest request_on(const DeviceCase& made, const GivenOptions& options, const std::string& schedule = "1f1b") {
  return {made.graph, made.platform, {schedule, {}}, 6, {}, parse_options(find_planner("exhaustive"), options)};
}

Plan finished(const PlanRequest& request, Plan plan) {
  return with_level_shares(request, with_ordered_turns(request, {std::move(plan), {}})).plan;
}

double time_of(const PlanRequest& request, const Plan& plan) {
  const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
  return evaluate_iteration(request.graph, request.platform, program).value();
}

/// All plans, by the stage of each device (0: none), the cuts as bits, and the stages that divide microbatches as bits.
/// `use` also gets the stages of the devices.
void for_all_plans(const PlanRequest& request,
                   const std::function<void(const Plan&, const std::vector<std::size_t>&)>& use) {
  const std::size_t devices = request.platform.devices.size();
  const std::size_t layers = request.graph.layers.size();
  for (std::size_t cuts = 0; cuts < std::size_t{1} << (layers - 1); ++cuts) {
    Plan bare;
    bare.microbatch_size = request.graph.microbatch_size;
    bare.microbatches = request.microbatches;
    bare.schedule = request.schedule;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      if (layer == 0 || ((cuts >> (layer - 1)) & 1U) != 0) bare.stages.emplace_back();
      bare.stages.back().layers.emplace_back(layer);
    }
    const std::size_t base = bare.stages.size() + 1;
    const auto all = static_cast<std::size_t>(std::llround(std::pow(base, devices)));
    for (std::size_t code = 0; code < all; ++code) {
      std::vector<std::size_t> stage_of_device(devices);
      Plan plan = bare;
      std::size_t rest = code;
      for (std::size_t device = 0; device < devices; ++device, rest /= base) {
        stage_of_device[device] = rest % base;
        if (rest % base > 0) plan.stages[rest % base - 1].replicas.emplace_back(DeviceId(device));
      }
      if (std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.replicas.empty(); })) continue;
      for (std::size_t divided = 0; divided < std::size_t{1} << plan.stages.size(); ++divided) {
        bool is_plan = true;  // one replica does not divide
        for (std::size_t s = 0; s < plan.stages.size(); ++s) {
          const bool divides = ((divided >> s) & 1U) != 0;
          plan.stages[s].replication = divides ? Replication::Split : Replication::RoundRobin;
          is_plan = is_plan && !(divides && plan.stages[s].replicas.size() == 1);
        }
        if (is_plan) use(plan, stage_of_device);
      }
    }
  }
}

/// Whether a plan is in the space, as the page says it.
bool is_in_space(const DeviceCase& made, std::size_t seed, const std::vector<std::size_t>& stage_of_device) {
  constexpr std::size_t kIdle = std::numeric_limits<std::size_t>::max();
  const auto when = [&](std::size_t device) { return stage_of_device[device] == 0 ? kIdle : stage_of_device[device]; };
  if (seed % 4 == 3) return true;
  std::size_t first = 0;
  for (std::size_t node = 0; node < made.nodes.size(); ++node) {
    for (std::size_t i = 1; i < made.nodes[node]; ++i) {
      if (when(first + i - 1) > when(first + i)) return false;
    }
    const bool is_like_last = node > 0 && made.nodes[node] == made.nodes[node - 1];
    if (is_like_last) {  // the first device of a node is the first that is used
      const std::size_t last = first - made.nodes[node - 1];
      bool is_shared = false;
      for (std::size_t a = last; a < first; ++a) {
        for (std::size_t b = first; b < first + made.nodes[node]; ++b) {
          is_shared = is_shared || (stage_of_device[a] > 0 && stage_of_device[a] == stage_of_device[b]);
        }
      }
      if (when(last) > when(first) && !is_shared) return false;
    }
    first += made.nodes[node];
  }
  return true;
}

const Planned& planned(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

template <class Value>
Value detail(const Planned& planned, const std::string& name) {
  return std::get<Value>(entry(planned.details, name).value);
}

}  // namespace

TEST_CASE("exhaustive: on any devices no plan is faster than the answer, whoever enumerates all sets") {
  for (std::uint32_t seed = 1; seed <= random_cases(80U); ++seed) {
    CAPTURE(seed);
    const DeviceCase made = random_devices(seed);
    const PlanRequest request =
        request_on(made, {{"devices", "any"}, {"replication", "either"}, {"prune", seed % 2 == 0 ? "true" : "false"}});
    double best = std::numeric_limits<double>::infinity();
    std::int64_t in_space = 0;
    for_all_plans(request, [&](const Plan& plan, const std::vector<std::size_t>& stage_of_device) {
      if (is_in_space(made, seed, stage_of_device)) ++in_space;
      best = std::min(best, time_of(request, finished(request, plan)));
    });
    const PlanResult result = find_planner("exhaustive").plan(request);
    CHECK(detail<double>(planned(result), "objective_s") == doctest::Approx(best).epsilon(1e-8));
    CHECK(detail<std::int64_t>(planned(result), "candidates") == in_space);
    CHECK(time_of(request, planned(result).plan) == detail<double>(planned(result), "objective_s"));
    CHECK(finished(request, planned(result).plan).stages == planned(result).plan.stages);
  }
}

TEST_CASE("exhaustive: on any devices it is never slower than in platform order, and skipping plans changes nothing") {
  int faster = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(80U); ++seed) {
    CAPTURE(seed);
    const DeviceCase made = random_devices(seed);
    const GivenOptions both{{"replication", "either"}};
    const auto answer = [&](const char* devices, const char* prune) {
      GivenOptions options = both;
      options.emplace_back("devices", devices);
      options.emplace_back("prune", prune);
      return planned(find_planner("exhaustive").plan(request_on(made, options)));
    };
    const PlanRequest request = request_on(made, both);
    const Planned any = answer("any", "true");
    const double in_order = time_of(request, finished(request, answer("order", "true").plan));
    CHECK(detail<double>(any, "objective_s") <= in_order * (1.0 + 1e-8));
    if (detail<double>(any, "objective_s") < in_order * (1.0 - 1e-8)) ++faster;
    const Planned whole = answer("any", "false");
    CHECK(any.plan == whole.plan);
    CHECK(entry(any.details, "runner_up") == entry(whole.details, "runner_up"));
    CHECK(detail<std::int64_t>(any, "judged") + detail<std::int64_t>(any, "too_slow") +
              detail<std::int64_t>(any, "too_large") + detail<std::int64_t>(any, "not_applicable") ==
          detail<std::int64_t>(any, "candidates"));
    CHECK(detail<std::int64_t>(whole, "judged") == detail<std::int64_t>(whole, "candidates"));
  }
  CHECK(faster > 0);
}

TEST_CASE("exhaustive: of a PCIe tree devices of a switch are alike, and so are switches of a socket") {
  const auto node = [](std::uint32_t on_switch, std::uint32_t switches_per_socket) {
    PlatformSpec spec = cluster_of(1, 8, 5.0);
    const LinkSpec link = test::link_of(5);
    std::get<NodeForm>(spec.form).node_kinds[NodeKindId(0)].interconnect->shape =
        PcieNode{on_switch, link, switches_per_socket, link};
    return alike_devices(build_platform(std::move(spec))).front();
  };
  CHECK(node(2, 0) == NodeRuns{{2, 2, 2, 2}, false, {0, 1, 1, 1}});
  CHECK(node(2, 2) == NodeRuns{{2, 2, 2, 2}, false, {0, 1, 0, 1}});
  CHECK(node(1, 0) == NodeRuns{{8}, false, {0}});
  CHECK(node(1, 4) == NodeRuns{{4, 4}, false, {0, 0}});
  CHECK(node(8, 0) == NodeRuns{{8}, false, {0}});
}

TEST_CASE("exhaustive: devices are alike only where that is certain") {
  const auto sizes = [](const Platform& platform) {
    std::vector<std::vector<std::size_t>> all;
    for (const NodeRuns& node : alike_devices(platform)) all.push_back(node.sizes);
    return all;
  };
  using Sizes = std::vector<std::vector<std::size_t>>;
  const Platform plain = build_platform(cluster_of(2, 3, 5.0));
  CHECK(alike_devices(plain) == std::vector<NodeRuns>{{{3}, false, {0}}, {{3}, true, {0}}});
  CHECK(sizes(flat_platform(2)) == Sizes{{1}, {1}});
  Platform slow = plain;
  slow.devices[DeviceId(1)].slowdown = 2.0;
  CHECK(alike_devices(slow) == std::vector<NodeRuns>{{{1, 1, 1}, false, {0, 0, 0}}, {{3}, false, {0}}});
  Platform small = plain;
  small.devices[DeviceId(5)].memory = Bytes(10);
  CHECK(alike_devices(small) == std::vector<NodeRuns>{{{3}, false, {0}}, {{2, 1}, false, {0, 0}}});
  Platform narrow = plain;
  narrow.links[LinkId(0)].bandwidth = BytesPerSecond(1);
  CHECK(sizes(narrow) == Sizes{{1}, {1}, {1}, {1}, {1}, {1}});
  PlatformSpec pairs = plain.spec;
  std::get<NodeForm>(pairs.form).node_kinds[NodeKindId(0)].interconnect->shape = FullNode{};
  CHECK(alike_devices(build_platform(pairs)) == std::vector<NodeRuns>{{{3}, false, {0}}, {{3}, true, {0}}});
  PlatformSpec ring = plain.spec;
  std::get<NodeForm>(ring.form).node_kinds[NodeKindId(0)].interconnect->shape = RingNode{};
  CHECK(alike_devices(build_platform(ring)) ==
        std::vector<NodeRuns>{{{1, 1, 1}, false, {0, 0, 0}}, {{1, 1, 1}, true, {0, 0, 0}}});
  PlatformSpec cards = plain.spec;
  std::get<NodeForm>(cards.form).node_kinds[NodeKindId(0)].nic = NicSpec{test::link_of(5), true};
  CHECK(sizes(build_platform(cards)) == Sizes{{1, 1, 1}, {1, 1, 1}});
  std::get<NodeForm>(cards.form).groups.front().count = 1;
  CHECK(sizes(build_platform(cards)) == Sizes{{3}});
  PlatformSpec torus = plain.spec;
  std::get<NodeForm>(torus.form).network = TorusNetwork{{2}, test::link_of(5)};
  CHECK(sizes(build_platform(torus)) == Sizes{{1}, {1}, {1}, {1}, {1}, {1}});
}

TEST_CASE("exhaustive: a space of sets too large to count is refused") {
  const DeviceCase made{chain(std::vector<double>(20, 1.0)), flat_platform(20), {}};
  CHECK_THROWS_WITH_AS((void)find_planner("exhaustive").plan(request_on(made, {{"devices", "any"}})),
                       doctest::Contains("counting the plans on any of 20 devices"), InputError);
  // As many sets of three devices as 2^3 - 1.
  const DeviceCase small{chain({1.0}), flat_platform(3), {}};
  CHECK_THROWS_WITH_AS(
      (void)find_planner("exhaustive").plan(request_on(small, {{"devices", "any"}, {"max_candidates", "6"}})),
      doctest::Contains("would take 7 plans, more than 6"), InputError);
}

TEST_CASE("exhaustive: draws are plans of the space of any devices") {
  const DeviceCase made = random_devices(4);
  std::vector<std::vector<DeviceId>> seen;
  for (int seed = 1; seed <= 200; ++seed) {
    const PlanRequest request = request_on(made, {{"devices", "any"}, {"sample", std::to_string(seed)}});
    const Plan plan = planned(find_planner("exhaustive").plan(request)).plan;
    std::vector<std::size_t> stage_of_device(made.platform.devices.size());
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      for (const DeviceId device : devices_of(plan.stages[s])) stage_of_device[device.value()] = s + 1;
    }
    CHECK(is_in_space(made, 4, stage_of_device));
    std::vector<DeviceId> first = devices_of(plan.stages.front());
    if (std::ranges::find(seen, first) == seen.end()) seen.push_back(std::move(first));
  }
  // All sets of the first stage: of the devices of the first node 0, 1 or 2, and of the second, too.
  CHECK(seen.size() >= 6);
}

TEST_CASE("exhaustive: replayed is the least time of the judge's replays, of which few are needed") {
  std::int64_t needed = 0;
  std::int64_t all = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(40U); ++seed) {
    CAPTURE(seed);
    const DeviceCase made = random_devices(seed);
    PlanRequest request = request_on(made, {{"devices", "any"}, {"objective", "replayed"}, {"replication", "either"}});
    const auto evaluate = [&](const Plan& plan) { return Verdict{Seconds(time_of(request, plan)), true}; };
    std::int64_t replays = 0;
    const auto delay_of = [&](const Plan& plan) {  // by the devices, as contention is
      std::size_t number = seed;
      for (const Stage& stage : plan.stages) {
        for (const DeviceId device : devices_of(stage)) number = 31 * number + device.value();
        number = 31 * number + stage.layers.size();
      }
      return 1.0 + static_cast<double>(number % 97) / 400.0;
    };
    const Judge judge{.evaluate = evaluate, .replay = [&](const Plan& plan) {
                        ++replays;
                        return Verdict{Seconds(time_of(request, plan) * delay_of(plan)), true};
                      }};
    request.judge = &judge;
    const Planned answer = planned(find_planner("exhaustive").plan(request));
    CHECK(detail<std::int64_t>(answer, "judged") == replays);
    needed += replays;
    all += detail<std::int64_t>(answer, "candidates");
    double best = std::numeric_limits<double>::infinity();
    for_all_plans(request, [&](const Plan& plan, const std::vector<std::size_t>& stage_of_device) {
      if (!is_in_space(made, seed, stage_of_device)) return;
      const Plan run = finished(request, plan);
      best = std::min(best, time_of(request, run) * delay_of(run));
    });
    CHECK(detail<double>(answer, "objective_s") == doctest::Approx(best).epsilon(1e-8));
  }
  CHECK(needed * 4 < all);
}

TEST_CASE("exhaustive: replays need a judge and a schedule that flushes") {
  const DeviceCase made = random_devices(1);
  const GivenOptions options{{"objective", "replayed"}};
  CHECK_THROWS_WITH_AS((void)find_planner("exhaustive").plan(request_on(made, options)),
                       doctest::Contains("decides by replays"), InputError);
  PlanRequest request = request_on(made, options, "pipedream");
  const auto none = [](const Plan& /*plan*/) { return Verdict{}; };
  const Judge judge{none, none};
  request.judge = &judge;
  CHECK_THROWS_WITH_AS((void)find_planner("exhaustive").plan(request), doctest::Contains("does not flush"), InputError);
  const PlannerInfo& planner = find_planner("exhaustive");
  CHECK(wants_judge(planner, parse_options(planner, options)));
  CHECK_FALSE(wants_judge(planner, parse_options(planner, {})));
}

}  // namespace stagecraft::exhaustive_devices_test
