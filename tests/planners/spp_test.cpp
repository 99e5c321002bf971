#include "planners/registry.hpp"
#include "planners/spp/candidates.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecraft::spp_test {

using namespace stagecraft::testing;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

const PlannerInfo& planner() { return as_in_paper("spp"); }

/// The specification's four devices: 10 B/s between 0 and 2 and between 1 and 3, else 1.
Platform platform_b4(Bytes memory = Bytes(1'000'000)) {
  PlatformSpec spec = flat_platform(4, 1.0, memory).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  for (std::size_t i = 0; i < 2; ++i) {
    form.links.push_back({"", std::pair(DeviceId(i), DeviceId(i + 2)), LinkSpec{BytesPerSecond(10), Seconds(0)}});
  }
  return build_platform(spec);
}

/// A chain of layers that take pf and twice that, hand on d and have alpha bytes of parameters.
LayerGraph chain_of(const std::vector<double>& pf, const std::vector<std::int64_t>& d,
                    const std::vector<std::int64_t>& alpha) {
  LayerGraph graph = chain(pf);
  graph.microbatch_size = 16;
  for (std::size_t i = 0; i < pf.size(); ++i) graph.layers[LayerId(i)].parameters = Bytes(alpha[i]);
  for (std::size_t i = 0; i < d.size(); ++i) graph.edges[i].bytes = Bytes(d[i]);
  return graph;
}

LayerGraph graph_i1() { return chain_of({2, 2, 3, 1}, {4, 2, 2}, {10, 10, 20, 40}); }
LayerGraph graph_i3() { return chain_of({4, 4, 4, 4}, {2, 2, 2}, {1, 1, 1, 1}); }

Planned planned(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

/// (stages, load, time) of every stage count.
void check_counts(const Planned& planned, const std::vector<std::pair<double, double>>& expected) {
  const auto& list = std::get<Detail::List>(detail(planned, "per_stage_count").value);
  REQUIRE(list.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const auto& record = std::get<Detail::Record>(list[i].value);
    CHECK(record[0].second == Detail(static_cast<std::int64_t>(i + 1)));
    CHECK(std::get<double>(record[1].second.value) == doctest::Approx(expected[i].first).epsilon(1e-12));
    CHECK(std::get<double>(record[2].second.value) == doctest::Approx(expected[i].second).epsilon(1e-12));
  }
}

Seconds analytic_time(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  LowerOptions options;
  options.network = NetworkModel::Analytic;
  return evaluate_plan(graph, platform, plan, options).iterations.back();
}

}  // namespace

TEST_CASE("spp: the specification's examples I1 and I3 on every count of stages") {
  const Planned i1 = planned(run_planner(planner(), graph_i1(), platform_b4(), {}, 4));
  check_counts(i1, {{144, 144}, {30, 33}, {30, 38.8}, {36, 52.8}});
  CHECK(stage_names(graph_i1(), i1.plan) == std::vector<std::vector<std::string>>{{"l0", "l1"}, {"l2", "l3"}});
  CHECK(i1.plan.stages[0].replicas == std::vector<Group>{DeviceId(0), DeviceId(2)});
  CHECK(i1.plan.stages[1].replicas == std::vector<Group>{DeviceId(1), DeviceId(3)});
  CHECK(i1.plan.stages[1].replication == Replication::Split);
  CHECK(i1.plan.predicted.iteration_time->value() == doctest::Approx(33).epsilon(1e-12));
  CHECK(detail(i1, "device_order") == Detail(Detail::List{"gpu0", "gpu2", "gpu1", "gpu3"}));
  // 2 M + 4 S - 4 = 12 blocks of 4 s at most, and the longest all-reduce of 6 s.
  CHECK(std::get<double>(detail(i1, "bound_s").value) == doctest::Approx(54).epsilon(1e-12));
  CHECK(detail(i1, "soft_bound_exceeded") == Detail(std::int64_t{0}));

  const Planned i3 = planned(run_planner(planner(), graph_i3(), platform_b4(), {}, 4));
  check_counts(i3, {{54, 54}, {48.2, 61.2}, {48.2, 74.6}, {48, 88.8}});
  CHECK(i3.plan.stages.size() == 1);
}

TEST_CASE("spp: load, time and bound of 150 random graphs are those of the run, and data parallelism is no faster") {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    RandomCase random = random_case(seed);
    random.graph.microbatch_size = 60;  // as many devices as there may be divide it
    const auto devices = static_cast<std::int64_t>(random.platform.devices.size());
    const std::int64_t microbatches = 1 + seed % 9;
    const bool full = seed % 3 == 0;
    const Pairs options = {{"duplex", full ? "full" : "half"},
                           {"allow_fewer", seed % 2 == 0 ? "true" : "false"},
                           {"pair_bandwidth", "nominal"}};
    const Planned answer = planned(run_planner(planner(), random.graph, random.platform, options, microbatches));
    const Plan& plan = answer.plan;
    const double time = plan.predicted.iteration_time->value();
    CHECK(analytic_time(random.graph, random.platform, plan).value() == doctest::Approx(time).epsilon(1e-9));
    const PipelineTimes times = pipeline_times(random.graph, random.platform, {random.graph, random.platform, plan});
    const double load = pipeline_load(times, microbatches, full).value();
    CHECK(std::get<double>(detail(answer, "load_s").value) == doctest::Approx(load).epsilon(1e-9));
    CHECK(load <= time * (1 + 1e-9));
    CHECK(time <= std::get<double>(detail(answer, "bound_s").value) * (1 + 1e-9));
    // Each share of a microbatch has the overheads of a whole one, which replicas that take turns have less often.
    if (random.platform.kind(DeviceId(0)).pass_overhead > Seconds(0)) continue;
    const Planned parallel =
        planned(run_planner(find_planner("data-parallel"), random.graph, random.platform, {}, devices * microbatches));
    const Planned same =
        planned(run_planner(planner(), random.graph, random.platform, options, devices * microbatches));
    CHECK(*same.plan.predicted.iteration_time <=
          analytic_time(random.graph, random.platform, parallel.plan) * (1 + 1e-9));
  }
}

TEST_CASE("spp: with less memory fewer microbatches are in flight, until none fits") {
  const LayerGraph graph = graph_i1();
  const Planned free = planned(run_planner(planner(), graph, platform_b4(), {}, 32));
  Bytes largest;
  for (const auto& [device, peak] : free.plan.predicted.peak_memory) largest = std::max(largest, peak);
  CHECK(!free.plan.stages[0].in_flight.has_value());

  const PlanResult none = run_planner(planner(), graph, platform_b4(Bytes(1)), {}, 32);
  REQUIRE(std::holds_alternative<Infeasible>(none));
  const Infeasible& lacking = std::get<Infeasible>(none);
  REQUIRE(lacking.smallest_memory.has_value());
  const Bytes least = *lacking.smallest_memory;
  CHECK(least < largest);
  CHECK(lacking.reason.starts_with("of the fastest cuts for each number of stages none fits; with "));

  Seconds before{0};
  for (Bytes memory = largest; memory >= least; memory -= Bytes(1)) {
    const Planned lowered = planned(run_planner(planner(), graph, platform_b4(memory), {}, 32));
    CHECK(*lowered.plan.predicted.iteration_time >= *free.plan.predicted.iteration_time);
    before = *lowered.plan.predicted.iteration_time;
    CHECK(before.value() <= std::get<double>(detail(lowered, "bound_s").value) * (1 + 1e-9));
    for (const auto& [device, peak] : lowered.plan.predicted.peak_memory) CHECK(peak <= memory);
    CHECK(analytic_time(graph, platform_b4(), lowered.plan).value() == doctest::Approx(before.value()).epsilon(1e-9));
  }
  CHECK(before > *free.plan.predicted.iteration_time);
  CHECK(std::holds_alternative<Infeasible>(run_planner(planner(), graph, platform_b4(least - Bytes(1)), {}, 32)));
}

TEST_CASE("spp: another synchronous schedule ranks the counts of stages by its own time") {
  const LayerGraph graph = graph_i3();
  const Platform platform = platform_b4();
  PlanRequest request{graph, platform, {"1f1b", {}}, 12, {}, parse_options(planner(), {})};
  const Planned answer = planned(planner().plan(request));
  CHECK(answer.plan.schedule.name == "1f1b");
  CHECK(analytic_time(graph, platform, answer.plan) == *answer.plan.predicted.iteration_time);
  CHECK(detail(answer, "bound_s") == Detail());

  request.options = parse_options(planner(), {{"pe_exec", "list"}});
  CHECK_THROWS_WITH_AS(static_cast<void>(planner().plan(request)),
                       "planner 'spp': pe_exec is an option of schedule 'spp-pe', not of '1f1b'", InputError);
  request.schedule = {"spp-pe", {{"pe_exec", "strict"}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(planner().plan(request)),
                       "planner 'spp': pe_exec is 'list' as an option, but 'strict' in the schedule", InputError);
  request.schedule.name = "pipedream";
  CHECK_THROWS_WITH_AS(static_cast<void>(planner().plan(request)),
                       "planner 'spp' plans flushed iterations, but schedule 'pipedream' has none (use "
                       "spp-pe or another synchronous schedule)",
                       InputError);
}

TEST_CASE("spp: options become parameters of the schedule") {
  const Pairs options = {{"duplex", "full"}, {"pe_exec", "list"}, {"inflight_cap", "double"}};
  const Planned answer = planned(run_planner(planner(), graph_i1(), platform_b4(), options, 8));
  CHECK(answer.plan.schedule ==
        ScheduleChoice{"spp-pe", {{"duplex", "full"}, {"pe_exec", "list"}, {"inflight_cap", "double"}}});
  CHECK(analytic_time(graph_i1(), platform_b4(), answer.plan).value() ==
        doctest::Approx(answer.plan.predicted.iteration_time->value()).epsilon(1e-9));
}

TEST_CASE("spp: one device, one layer, equal bandwidths, and devices that are not connected") {
  const Planned alone = planned(run_planner(planner(), graph_i1(), flat_platform(1), {}, 4));
  CHECK(alone.plan.stages.size() == 1);
  CHECK(*alone.plan.predicted.iteration_time == Seconds(96));

  LayerGraph one = chain_of({3}, {}, {8});
  const Planned single = planned(run_planner(planner(), one, flat_platform(6, 100), {}, 4));
  CHECK(single.plan.stages.size() == 1);
  CHECK(single.plan.stages[0].replicas.size() == 6);

  const Planned even = planned(run_planner(planner(), graph_i1(), flat_platform(4), {}, 4));
  CHECK(detail(even, "device_order") == Detail(Detail::List{"gpu0", "gpu1", "gpu2", "gpu3"}));

  PlatformSpec apart = platform_b4().spec;
  std::get<ExplicitForm>(apart.form).default_link.reset();
  CHECK_THROWS_AS(static_cast<void>(run_planner(planner(), graph_i1(), build_platform(apart))), InputError);
}

TEST_CASE("spp: a stage has no more replicas than a microbatch has samples") {
  LayerGraph graph = graph_i3();
  graph.microbatch_size = 2;
  const Planned answer = planned(run_planner(planner(), graph, platform_b4(), {}, 4));
  CHECK(answer.plan.stages.size() == 2);  // one stage of four replicas would be faster
  for (const Stage& stage : answer.plan.stages) CHECK(stage.replicas.size() <= 2);
  graph.microbatch_size = 1;
  CHECK(planned(run_planner(planner(), graph, platform_b4(), {}, 4)).plan.stages.size() == 4);

  LayerGraph one = chain_of({3}, {}, {8});
  one.microbatch_size = 2;
  const PlanResult none = run_planner(planner(), one, flat_platform(6), {}, 4);
  REQUIRE(std::holds_alternative<Infeasible>(none));
  CHECK(std::get<Infeasible>(none).hint.find("allow_fewer=true leaves devices idle") != std::string::npos);
  CHECK(planned(run_planner(planner(), one, flat_platform(6), {{"allow_fewer", "true"}}, 4))
            .plan.stages[0]
            .replicas.size() == 2);
}

TEST_CASE("spp: the order of the platform may be worse than that of the cuts") {
  const Planned identity =
      planned(run_planner(planner(), graph_i1(), platform_b4(), {{"device_order", "identity"}}, 4));
  CHECK(detail(identity, "device_order") == Detail(Detail::List{"gpu0", "gpu1", "gpu2", "gpu3"}));
  CHECK(*identity.plan.predicted.iteration_time > Seconds(33));
}

}  // namespace stagecraft::spp_test
